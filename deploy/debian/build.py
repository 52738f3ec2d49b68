#!/usr/bin/env python3
"""Build a Debian package of the agent: ``python3 deploy/debian/build.py [--arch arm64] [--out DIRECTORY]``.

Needs Python 3.11, pip, dpkg-deb and a package index. What the agent stands on comes as wheels of the architecture that
is asked for, by the hashes of requirements.lock, so that a Raspberry Pi's package is built on any machine. The same
source gives the same bytes.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
GLIBC = ("manylinux2014", "manylinux_2_27", "manylinux_2_28")
"""Which wheels Debian 12 and later run."""
PYTHON = "3.11"
LIBRARY = Path("usr/lib/coterie-agent")
PIPS = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}
"""What pip notes for itself; dpkg knows which files there are."""
LAUNCHER = """#!/usr/bin/python3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib" / "coterie-agent"))
from coterie_agent.cli import main

main()
"""
CONTROL = """Package: coterie-agent
Version: {version}
Architecture: {architecture}
Maintainer: The Coterie authors <coterie@localhost>
Installed-Size: {installed_kb}
Depends: python3 (>= {python}), python3 (<< 3.12), libstdc++6
Section: science
Priority: optional
Description: lets this device learn together with others
 The agent of Coterie trains a small model on the device's own data when its
 owner's conditions hold, and sends what was learned, not the data.
"""
AFTER_INSTALLATION = """#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart coterie-agent.service
fi
if [ "$1" = configure ] && [ -z "$2" ]; then
    echo "Join a fleet:  coterie-agent --home /var/lib/coterie-agent join URL TOKEN"
    echo "and begin:     systemctl enable --now coterie-agent"
fi
"""
BEFORE_REMOVAL = """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now coterie-agent.service
fi
"""
AFTER_REMOVAL = """#!/bin/sh
set -e
# Samples, models and the device's credential stay until it is purged: `coterie-agent leave` ends the credential.
if [ "$1" = purge ]; then
    rm -rf /var/lib/coterie-agent /var/lib/private/coterie-agent
fi
"""


def pip(*arguments: str) -> None:
    """Run pip. Raises CalledProcessError where it fails."""
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def needed(wheel: Path, scratch: Path, platform: list[str]) -> list[str]:
    """The names of all packages that the agent stands on, with those of its page on the network."""
    report = scratch / "report.json"
    resolve = ["install", "--dry-run", "--ignore-installed", "--report", str(report), "--target", str(scratch / "none")]
    pip(*resolve, *platform, "--constraint", str(ROOT / "constraints.txt"), f"{wheel}[page]")
    found = (one["metadata"]["name"] for one in json.loads(report.read_text())["install"])
    return sorted(normal(name) for name in found if normal(name) != "coterie-agent")


def normal(name: str) -> str:
    """A package's name as two of them are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(names: list[str]) -> str:
    """The entries of these packages in requirements.lock. Raises KeyError where one is not locked."""
    text = (ROOT / "requirements.lock").read_text()
    entries = {normal(entry.partition("==")[0]): entry for entry in re.findall(r"^\S.*?(?=^\S|\Z)", text, re.M | re.S)}
    return "".join(entries[name] for name in names)


def lay_out(root: Path, architecture: str, scratch: Path) -> None:
    """Write what the package installs below `root`."""
    tags = [f"{glibc}_{MACHINES[architecture]}" for glibc in GLIBC]
    platform = ["--only-binary", ":all:", "--python-version", PYTHON]
    platform += [word for tag in tags for word in ("--platform", tag)]
    pip("wheel", "--no-deps", "--wheel-dir", str(scratch), str(ROOT / "edge_agent"))
    (wheel,) = scratch.glob("coterie_agent-*.whl")
    lock = scratch / "lock.txt"
    lock.write_text(locked(needed(wheel, scratch, platform)))
    target = ["--target", str(root / LIBRARY), "--no-compile", "--no-deps"]
    pip("install", *target, *platform, "--require-hashes", "--requirement", str(lock))
    pip("install", *target, str(wheel))
    shutil.rmtree(root / LIBRARY / "bin", ignore_errors=True)
    for record in (root / LIBRARY).glob("*.dist-info/*"):
        if record.name in PIPS:
            record.unlink()
    for tests in [path for path in (root / LIBRARY).rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests)
    command = root / "usr/bin/coterie-agent"
    command.parent.mkdir(parents=True)
    command.write_text(LAUNCHER)
    command.chmod(0o755)
    unit = root / "usr/lib/systemd/system/coterie-agent.service"
    unit.parent.mkdir(parents=True)
    shipped = (ROOT / "deploy/systemd/coterie-agent.service").read_text()
    unit.write_text(shipped.replace("/opt/coterie-agent/bin/", "/usr/bin/"))
    documents = root / "usr/share/doc/coterie-agent"
    documents.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", documents / "copyright")


def describe(root: Path, version: str, architecture: str) -> None:
    """Write what dpkg reads, and does."""
    control = root / "DEBIAN"
    control.mkdir()
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    facts = {"version": version, "architecture": architecture, "installed_kb": size // 1024, "python": PYTHON}
    (control / "control").write_text(CONTROL.format(**facts))
    scripts = {"postinst": AFTER_INSTALLATION, "prerm": BEFORE_REMOVAL, "postrm": AFTER_REMOVAL}
    for name, script in scripts.items():
        (control / name).write_text(script)
        (control / name).chmod(0o755)


def last_change() -> str:
    """Seconds since 1970 of the source's last commit, which all files of the package bear; 0 outside a repository."""
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "0"


def main() -> None:
    """Build it, and print its path."""
    parser = argparse.ArgumentParser(description="Build a Debian package of the agent.")
    ours = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    parser.add_argument("--arch", choices=sorted(MACHINES), default=ours, help="whose (default: this machine's)")
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="directory for the package")
    asked = parser.parse_args()
    version = tomllib.loads((ROOT / "edge_agent/pyproject.toml").read_text())["project"]["version"]
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        root = scratch / "root"
        root.mkdir(mode=0o755)
        lay_out(root, asked.arch, scratch)
        describe(root, version, asked.arch)
        asked.out.mkdir(parents=True, exist_ok=True)
        package = asked.out / f"coterie-agent_{version}_{asked.arch}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z2", "--build", str(root), str(package)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": last_change()}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    print(package)


if __name__ == "__main__":
    main()
