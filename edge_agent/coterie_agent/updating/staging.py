"""Installs a verified release beside the running agent, in its own virtual environment, without running it yet.

Dependencies are taken from the owner's environment where it has them, else from the release. pip installs only
wheels, from a directory that contains only the verified files.
"""

import os
import shutil
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from coterie_agent.errors import AgentError
from coterie_agent.versions.state import Base, Versions

_INSTALLS_WITHIN_S = 900.0
_ANSWERS_WITHIN_S = 120.0
_LAYER = "base.pth"


def stage(version: str, wheels: Sequence[Path], *, base: Base, versions: Versions) -> None:
    """Install a release; it is on the disk when this returns. Raises AgentError ``updates.not_installed``."""
    folder = versions.folder(version)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        python = folder / "bin" / "python"
        (site,) = folder.glob("lib/python3*/site-packages")
        layers = "".join(f"import site; site.addsitedir({path!r})\n" for path in base.sites)
        (site / _LAYER).write_text(layers, encoding="utf-8")
        with tempfile.TemporaryDirectory(dir=folder) as directory:
            for wheel in wheels:
                os.link(wheel, Path(directory) / wheel.name)
            install = ["--isolated", "--disable-pip-version-check", "--no-input", "--python", str(python), "install"]
            source = ["--no-index", "--only-binary", ":all:", "--find-links", directory, "--no-compile"]
            _run([base.python, "-m", "pip", *install, *source, f"coterie-agent[updates]=={version}"])
        found = _run([str(python), "-m", "coterie_agent", "--version"], within_s=_ANSWERS_WITHIN_S)
    except (OSError, ValueError) as error:
        raise AgentError("updates.not_installed", f"agent {version} cannot be installed: {error}") from error
    if found != version:
        raise AgentError("updates.not_installed", f"what calls itself agent {version} says that it is {found[:40]!r}")
    os.sync()


def _run(command: Sequence[str], *, within_s: float = _INSTALLS_WITHIN_S) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=within_s)
    except subprocess.TimeoutExpired as error:
        raise AgentError("updates.not_installed", f"{command[1]} {command[2]} took more than {within_s:g} s") from error
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines()
        detail = output[-1] if output else f"exit code {done.returncode}"
        raise AgentError("updates.not_installed", f"{command[1]} {command[2]}: {detail}"[:400])
    return done.stdout.strip()
