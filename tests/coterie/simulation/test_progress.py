"""Lines that say how far a simulation is."""

from io import StringIO

from coterie.simulation.progress import Lines, Progress
from coterie.simulation.simulate import simulate
from coterie_learning.plan import parse_plan
from tests.coterie.simulation.small import ROUNDS, scenario


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_says_how_far_it_is_and_how_long_it_takes_still() -> None:
    written, clock = StringIO(), Seconds()
    lines = Lines("fedavg", written, clock)
    for now, done in ((101.0, 1.0), (111.0, 10.0), (112.0, 11.0), (130.0, 50.0)):
        clock.now = now
        lines(Progress(done / 100, rounds=int(done)))
    assert written.getvalue().splitlines() == [
        "fedavg: 10% done, 10 rounds, about 99 s left",
        "fedavg: 50% done, 50 rounds, about 30 s left",
    ]


def test_before_anything_has_happened_it_promises_no_end() -> None:
    written, clock = StringIO(), Seconds()
    lines = Lines("isolated", written, clock)
    clock.now += 10
    lines(Progress(0.0, rounds=0))
    assert written.getvalue() == "isolated: 0% done, no end in sight yet\n"


def test_it_is_told_within_a_tick_too() -> None:
    """Rounds without a pause between them make a tick long."""
    told: list[Progress] = []
    plan = parse_plan({"pace": {**ROUNDS, "pause_s": 0}, "requirements": {"charging": False, "unmetered": False}})
    chosen = scenario()
    outcome = simulate(plan, chosen, devices=chosen.devices, seed=0, report=told.append)
    assert [one.share for one in told] == sorted(one.share for one in told)
    assert told[-1].share == 1
    assert told[-1].rounds == len(outcome.rounds)
    within = {one.share for one in told} - {tick / 8 for tick in range(1, 9)}
    assert len(within) > 8
