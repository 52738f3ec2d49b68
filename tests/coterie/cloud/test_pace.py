"""When a training looks at the clock: seldom where steps are quick, and soon enough where they are slow."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.cloud.pace import Pace

EVERY_S = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def looks(step_s: float, steps: int) -> tuple[list[float], list[float]]:
    """When it looked, and when checkpoints were due, where each step takes so long."""
    clock = Clock()
    pace = Pace(EVERY_S, clock)
    looked, due, since, until = [], [], 0, 1
    for _ in range(steps):
        clock.now += step_s
        since += 1
        if since == until:
            found = pace.check(since)
            looked.append(clock.now - 1000)
            due += [clock.now - 1000] if found.due else []
            since, until = 0, found.steps
    return looked, due


@given(st.floats(0.001, 300), st.integers(1, 2000))
def test_checkpoints_are_as_far_apart_as_wanted_or_a_step(step_s: float, steps: int) -> None:
    looked, due = looks(step_s, steps)
    lasted = step_s * steps
    for former, later in zip([0.0, *due], [*due, None], strict=True):
        if later is None:
            assert lasted - former < EVERY_S + 2 * step_s + 1e-6, "the next would have been due"
        else:
            assert EVERY_S - 1e-6 <= later - former <= EVERY_S + 2 * step_s + 1e-6
    assert len(looked) <= 40 * (len(due) + 1), "their distance doubles, then halves again as the time comes"


def test_a_thousand_quick_steps_are_ten_looks() -> None:
    looked, due = looks(0.001, 1023)
    assert len(looked) == 10
    assert due == []


def test_a_first_step_that_compiles_tells_little() -> None:
    clock = Clock()
    pace = Pace(EVERY_S, clock)
    clock.now += 50
    assert pace.check(1).steps == 1, "ten seconds are left, and a step seems to take fifty"
    clock.now += 0.5
    assert pace.check(1).steps == 2


def test_zero_saves_after_each_step() -> None:
    clock = Clock()
    pace = Pace(0.0, clock)
    for _ in range(3):
        clock.now += 0.5
        assert pace.check(1) == (True, 1)


def test_an_epoch_that_begins_has_just_been_saved() -> None:
    clock = Clock()
    pace = Pace(EVERY_S, clock)
    clock.now += 59
    pace.begin()
    clock.now += 2
    assert not pace.check(1).due
