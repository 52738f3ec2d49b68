"""The Debian package of the agent is built, says what it is, and what it installs runs on the system's own Python."""

import subprocess
import sys
from pathlib import Path

import pytest

from coterie_agent.commands.unit import FINAL
from tests.deploy.queries import DEPLOY

SYSTEM_PYTHON = Path("/usr/bin/python3.11")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no Debian 12: no Python 3.11 of the system's own"),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = [sys.executable, DEPLOY / "debian" / "build.py", "--out", tmp_path_factory.mktemp("packages")]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def dpkg_deb(*arguments: str | Path) -> str:
    return subprocess.run(["dpkg-deb", *arguments], check=True, capture_output=True, text=True).stdout


def test_it_installs_a_command_that_runs_and_a_unit_that_starts_it(package: Path, tmp_path: Path) -> None:
    assert dpkg_deb("--field", package, "Package", "Depends").splitlines()[0] == "Package: coterie-agent"
    dpkg_deb("--extract", package, tmp_path)
    assert not list(tmp_path.rglob("*.pyc"))
    command = [SYSTEM_PYTHON, "-I", tmp_path / "usr/bin/coterie-agent", "--home", tmp_path / "home", "status"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "join" in told.stderr, told.stdout + told.stderr
    assert "Traceback" not in told.stderr
    unit = (tmp_path / "usr/lib/systemd/system/coterie-agent.service").read_text()
    assert "ExecStart=/usr/bin/coterie-agent --home /var/lib/coterie-agent run" in unit
    assert f"RestartPreventExitStatus={' '.join(str(int(code)) for code in FINAL)}" in unit


def test_its_scripts_are_shell_and_keep_what_the_owner_has_until_it_is_purged(package: Path, tmp_path: Path) -> None:
    dpkg_deb("--control", package, tmp_path)
    for name in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n", tmp_path / name], check=True)
        assert (tmp_path / name).stat().st_mode & 0o111
    assert (tmp_path / "postrm").read_text().index("purge") < (tmp_path / "postrm").read_text().index("rm -rf")
