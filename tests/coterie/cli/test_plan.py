"""``coterie plan``: a goal goes in, proposals with their reasons come out."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coterie.cli.command import coterie
from tests.coterie.simulation.test_own_work import Write, data, pair, plan

__all__ = ["data", "pair", "plan"]  # fixtures of this file, too


@pytest.fixture
def asked(plan: str, pair: Write, data: Write) -> tuple[str, ...]:
    files = ("--pair", str(pair()), "--data", str(data()), "--split", "by:user")
    return (plan, *files, "--rounds", "4", "--seeds", "1", "--workers", "1", "--try", "local.learning_rate=1.0,0.00001")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(coterie, ["plan", *arguments])


@pytest.mark.long
def test_the_step_that_learns_is_proposed_with_a_reason(asked: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "proposals.json"
    drawn = tmp_path / "proposals.png"
    told = run(*asked, "--accuracy", "0.8", "--within", "1h", "--json", str(out), "--plot", str(drawn))
    assert told.exit_code == 0, told.output
    assert drawn.read_bytes().startswith(b"\x89PNG")
    best, *_ = json.loads(out.read_text())["proposals"]
    assert best["values"] == {"local.learning_rate": 1.0}
    assert best["reaches_goal"]
    assert "Goal: accuracy 0.800 within 1 hour. 2 plans tried; 1 of 3 proposals reach it." in told.output
    assert best["reason"] in told.output


def test_a_goal_that_nothing_reaches_is_said_to_a_program_alone(asked: tuple[str, ...]) -> None:
    told = run(*asked, "--accuracy", "0.8", "--within", "1h", "--bytes-per-device", "1kB", "--json", "-")
    assert told.exit_code == 0, told.output
    assert not any(one["reaches_goal"] for one in json.loads(told.stdout)["proposals"])


@pytest.mark.parametrize("within", ["7", "0d", "7y", "soon"])
def test_a_time_without_its_unit_is_refused(asked: tuple[str, ...], within: str) -> None:
    told = run(*asked, "--accuracy", "0.8", "--within", within)
    assert told.exit_code == 2
    assert "m, h, d, w" in told.output
