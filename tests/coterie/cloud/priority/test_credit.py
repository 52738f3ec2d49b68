"""The search for a credit, on step times that are functions of it."""

from collections.abc import Callable

import pytest

from coterie.cloud.priority.credit import LADDER, REST_STEPS, TRIAL_STEPS, Credit


def settle(credit: Credit, seconds: Callable[[int], float]) -> int:
    for _ in range(TRIAL_STEPS * 2 * len(LADDER)):
        credit.step(seconds(credit.pieces))
    return credit.pieces


@pytest.mark.parametrize("best", LADDER)
def test_it_finds_the_quickest(best: int) -> None:
    assert settle(Credit(), lambda pieces: 1 + abs(LADDER.index(pieces) - LADDER.index(best))) == best


def test_where_nothing_is_gained_it_stays() -> None:
    credit = Credit()
    begun = credit.pieces
    assert settle(credit, lambda _: 1.0) == begun


def test_one_slow_step_changes_nothing() -> None:
    credit, number = Credit(), 0

    def seconds(pieces: int) -> float:
        nonlocal number
        number += 1
        return 60.0 if number % TRIAL_STEPS == 5 else 1 + LADDER.index(pieces)

    assert settle(credit, seconds) == 1


def test_a_link_that_changes_is_noticed() -> None:
    credit = Credit()
    assert settle(credit, lambda pieces: 1.0 + pieces) == 1
    for _ in range(REST_STEPS):
        credit.step(1 / credit.pieces)
    assert settle(credit, lambda pieces: 1 / pieces) == LADDER[-1]
