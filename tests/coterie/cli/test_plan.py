"""``coterie plan``: a goal goes in, proposals with their reasons come out."""

import json
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coterie import sdk
from coterie.cli.command import coterie
from coterie.cli.plan import plan as coterie_plan
from coterie.simulation.fleet.run_options import BEYOND_ROUNDS
from coterie.simulation.management.commands import simulate
from coterie.twin.trying_views import TryPlanSerializer
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


OVER_TIME = ("--accuracy", "0.4", "--within", "1d")


def test_samples_may_come_over_the_time_that_there_is(asked: tuple[str, ...]) -> None:
    told = run(
        *asked, *OVER_TIME, "--split", "iid", "--devices", "3", "--each", "320", "--drift", "steady", "--json", "-"
    )
    assert told.exit_code == 0, told.output
    best, *_ = json.loads(told.stdout)["proposals"]
    assert best["reaches_goal"] and best["figures"]["reaches_s"] < 86_400


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        (("--drift", "sudden"), "there is no data drift 'sudden'; there is by:COLUMN"),
        (("--cloud", __file__), "a cloud model and initial cloud data go together: --cloud and --cloud-data"),
        (("--try", "pace.kind=alone"), "let samples come over time with a drift (--drift steady"),
    ],
)
def test_what_does_not_go_together_is_refused_as_simulations_do(
    asked: tuple[str, ...], given: tuple[str, ...], refused: str
) -> None:
    told = run(*asked, *OVER_TIME, *given)
    assert told.exit_code != 0 and refused in told.output


def test_every_way_to_simulate_a_plan_takes_the_same_options_by_the_same_names() -> None:
    parser = simulate.Command().create_parser("coterie", "simulate")
    flags = {flag for action in parser._actions for flag in action.option_strings}
    here = {option for parameter in coterie_plan.params for option in parameter.opts}
    for one in BEYOND_ROUNDS:
        assert one.flag in flags and one.flag in here
        for function in (sdk.simulate_fleet, sdk.sweep, sdk.propose_plans):
            assert one.field in signature(function).parameters
    assert "drift" in TryPlanSerializer().fields and "drift" in signature(sdk.Federation.try_plan).parameters
