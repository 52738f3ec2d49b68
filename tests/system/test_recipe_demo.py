"""One command from nothing to a running federation: ``coterie demo --recipe`` with its platform and real agents."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.processes import environment


@pytest.mark.long
def test_a_recipe_runs_with_a_platform_and_agents(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["--devices", "3", "--rounds", "2", "--seed", "1", "--port", "0", "--exit"]
    places = ["--state", str(tmp_path / "state"), "--report", str(report)]
    ended = subprocess.run(
        [sys.executable, "-m", "coterie", "demo", "--recipe", "next_word", *options, *places],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(report.read_bytes())
    assert found["rounds_published"] >= 1, ended.stdout
    assert all(0 <= score <= 1 for score in found["scores"].values())
    assert found["scores"]["federation"] > found["scores"]["baseline"]
