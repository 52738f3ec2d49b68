"""Answers that are costly to get."""

from coterie_agent.conditions.reader import Cached
from coterie_wire.conditions import Conditions


def test_costly_answers_are_kept_until_they_are_old_or_must_be_fresh() -> None:
    now, answers = [0.0], iter(Conditions(temperature_c=degrees) for degrees in (1, 2, 3))
    read = Cached(lambda: next(answers), ttl_s=15, clock=lambda: now[0])
    assert read(fresh=False).temperature_c == 1
    now[0] = 14
    assert read(fresh=False).temperature_c == 1
    assert read(fresh=True).temperature_c == 2
    now[0] = 28
    assert read(fresh=False).temperature_c == 2
    now[0] = 29
    assert read(fresh=False).temperature_c == 3
