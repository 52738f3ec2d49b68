"""What is published: the wheel carries the console as it was built, and none is made without it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from coterie.config.settings import CONSOLE_PAGE
from tests.system.processes import ROOT

pytestmark = pytest.mark.console
BUILT = CONSOLE_PAGE.parent
INSIDE = "coterie/gateway/static/console"
TEXT = {".js", ".css", ".svg"}
SMALLEST_COMPRESSED = 1024


def _wheel(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    return subprocess.run([*command, "-w", target, source], capture_output=True, text=True, check=False)


def test_the_wheel_carries_the_built_console_compressed(tmp_path: Path) -> None:
    done = _wheel(ROOT, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("coterie-*.whl")
    with ZipFile(path) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if name.startswith(f"{INSIDE}/")}
    built = {f"{INSIDE}/{file.relative_to(BUILT)}": file for file in BUILT.rglob("*") if file.is_file()}
    assert packed == {name: file.read_bytes() for name, file in built.items()}
    wanted = re.findall(r'(?:src|href)="/static/console/([^"]+)"', packed[f"{INSIDE}/index.html"].decode())
    assert any(name.endswith(".js") for name in wanted)
    assert {f"{INSIDE}/{name}" for name in wanted} <= packed.keys()
    large = [
        name for name, content in packed.items() if Path(name).suffix in TEXT and len(content) > SMALLEST_COMPRESSED
    ]
    assert {f"{name}{ending}" for name in large for ending in (".br", ".gz")} <= packed.keys()


def test_none_is_made_without_the_console(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "platform" / "coterie").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(ROOT / name, source)
    done = _wheel(source, tmp_path)
    assert done.returncode != 0
    assert "the console has not been built. Run `make console` first" in done.stdout + done.stderr
