"""A Python environment of its own, in which the packages of this one can be imported, and others be installed."""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACME_KINDS = ROOT / "docs/how-to/acme-kinds"
SOURCES = ("platform", "edge_agent", "")


class OtherEnvironment:
    """Sees our packages after its own; what is signed off in it is signed off nowhere else."""

    def __init__(self, directory: Path) -> None:
        venv.create(directory, symlinks=True)
        self.directory = directory
        self.python = str(directory / "bin/python")
        self._packages = next(directory.glob("lib/python*/site-packages"))
        (self._packages / "ours.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")

    def install(self, project: Path) -> None:
        """Install the package whose source is `project`, with no network and no dependencies."""
        options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
        command = [sys.executable, "-m", "pip", "install", *options, "--target", str(self._packages), str(project)]
        subprocess.run(command, check=True, capture_output=True)

    def write_package(self, name: str, *, entry_points: Mapping[str, str], modules: Mapping[str, str]) -> None:
        """What installing a package leaves behind: its modules, and what it says of itself."""
        told = self._packages / f"{name.replace('-', '_')}-1.0.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        lines = "".join(f"{entry} = {target}\n" for entry, target in entry_points.items())
        (told / "entry_points.txt").write_text(f"[coterie.kinds]\n{lines}", encoding="utf-8")
        for module, source in modules.items():
            (self._packages / f"{module}.py").write_text(source, encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What its Python does with `arguments`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
        path = os.pathsep.join(str(ROOT / source) for source in SOURCES)
        return subprocess.run(
            [self.python, *arguments],
            cwd=ROOT,
            env={**kept, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
