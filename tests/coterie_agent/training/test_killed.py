"""A device that loses power anywhere sends what it would have sent, and remembers what it would have remembered."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NEVER = 10**9


def run(home: Path, last: int) -> dict[str, Any] | None:
    """What three rounds came to; None where the process was killed at moment `last` before their end."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.coterie_agent.training.rounds_to_kill", str(home), str(last)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = run(tmp_path_factory.mktemp("home") / "undisturbed", NEVER)
    assert found is not None
    return found


@pytest.mark.long
@pytest.mark.parametrize("first", [1, 6, 11])
def test_killed_anywhere_it_has_the_same_states(tmp_path: Path, undisturbed: dict[str, Any], first: int) -> None:
    kills, found = 0, None
    while found is None:
        found = run(tmp_path / "home", first + 9 * kills if kills < 6 else NEVER)
        kills += found is None
    assert kills >= 3
    assert found["states"] == undisturbed["states"]
    assert found["sent"] == undisturbed["sent"]
    assert set(found["states"]) == {"codec", "personal model"}


@pytest.mark.long
def test_killed_between_the_receipt_and_its_record_it_has_the_same_states(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    """The last moments of all: before the last update is known to be accepted, and after."""
    for before in (1, 0):
        home = tmp_path / str(before)
        assert run(home, undisturbed["moments"] - before) is None
        found = run(home, NEVER)
        assert found is not None
        assert found["states"] == undisturbed["states"]
