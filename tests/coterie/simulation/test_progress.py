"""Lines that say how far a simulation is."""

from io import StringIO

import pytest

from coterie.simulation.progress import Lines, SimulationProgress, unreported
from coterie.simulation.simulate import simulate
from coterie_learning.plan import parse_plan
from tests.coterie.simulation.small import ROUNDS, scenario


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def told(report: Lines, clock: Seconds, *seen: tuple[float, SimulationProgress]) -> None:
    for now, progress in seen:
        clock.now = now
        report(progress)


def test_a_line_says_how_far_it_is_and_how_long_it_takes_still() -> None:
    written, clock = StringIO(), Seconds()
    lines = Lines("isolated", written, clock, "have patience")
    told(lines, clock, *((100 + done, SimulationProgress(done / 100, rounds=0)) for done in (1, 10, 11, 50)))
    assert written.getvalue().splitlines() == [
        "isolated: 10.0% done, about 1.5 minutes left",
        "isolated: 50.0% done, about 50 seconds left",
    ]


def test_time_without_rounds_promises_nothing_of_the_time_with_them() -> None:
    """A quarter of the simulated time passes at once; then each night takes long."""
    written, clock = StringIO(), Seconds()
    lines = Lines("fedavg", written, clock, "--rounds N holds so many")
    told(
        lines,
        clock,
        (101, SimulationProgress(0.25, 1)),
        (111, SimulationProgress(0.2501, 51)),
        (401, SimulationProgress(0.4, 900)),
    )
    assert written.getvalue().splitlines() == [
        "fedavg: 25.0% done, 51 rounds, about 20.8 hours left: --rounds N holds so many",
        "fedavg: 40.0% done, 900 rounds, about 20 minutes left: --rounds N holds so many",
    ]


def test_rounds_that_are_wanted_end_it_too() -> None:
    written, clock = StringIO(), Seconds()
    lines = Lines("fedavg", written, clock, "--rounds N holds so many")
    told(lines, clock, (101, SimulationProgress(0.25, 1, 201)), (111, SimulationProgress(0.2501, 51, 201)))
    assert written.getvalue() == "fedavg: 25.0% done, 51 rounds, about 30 seconds left\n"


def test_before_anything_has_happened_it_promises_no_end() -> None:
    written, clock = StringIO(), Seconds()
    lines = Lines("isolated", written, clock)
    clock.now += 10
    lines(SimulationProgress(0.0, rounds=0))
    assert written.getvalue() == "isolated: 0.0% done, no end in sight yet\n"


@pytest.mark.long
def test_it_is_told_within_a_tick_too() -> None:
    """Rounds without a pause between them make a tick long."""
    seen: list[SimulationProgress] = []
    plan = parse_plan({"pace": {**ROUNDS, "pause_s": 0}, "requirements": {"charging": False, "unmetered": False}})
    chosen = scenario()
    outcome = simulate(plan, chosen, devices=chosen.devices, seed=0, report=seen.append)
    assert [one.share for one in seen] == sorted(one.share for one in seen)
    assert seen[-1].share == 1
    assert seen[-1].rounds == len(outcome.rounds)
    within = {one.share for one in seen} - {tick / 8 for tick in range(1, 9)}
    assert len(within) > 8


@pytest.mark.long
def test_no_more_rounds_are_held_than_are_wanted() -> None:
    plan, chosen = parse_plan({"pace": {**ROUNDS, "pause_s": 0}}), scenario()
    outcome = simulate(plan, chosen, devices=chosen.devices, seed=0, report=unreported, most_rounds=2)
    assert [round_.number for round_ in outcome.rounds] == [1, 2]
    whole = simulate(plan, chosen, devices=chosen.devices, seed=0, report=unreported)
    assert len(whole.rounds) > 2
    assert [len(device.samples) for device in outcome.devices] == [len(device.samples) for device in whole.devices]
