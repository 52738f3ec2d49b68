"""The demo with a phone: a headless browser is one device of the federation."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.config.settings import PHONE_PAGE
from coterie.demo.chromium import find_chromium
from tests.system.processes import environment


@pytest.mark.long
@pytest.mark.skipif(find_chromium() is None or not PHONE_PAGE.exists(), reason="needs Chromium, and `make phone`")
def test_a_browser_takes_part_in_the_demo(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["--devices", "3", "--rounds", "3", "--port", "0", "--phone", "browser", "--exit"]
    places = ["--state", str(tmp_path / "state"), "--report", str(report)]
    ended = subprocess.run(
        [sys.executable, "-m", "coterie", "demo", *options, *places],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(report.read_bytes())
    assert 1 <= found["phone"]["counted"] <= found["phone"]["invited"] <= 3, ended.stdout
