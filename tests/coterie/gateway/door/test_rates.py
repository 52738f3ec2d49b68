"""So many a minute, in a burst or evenly, in bounded memory."""

import pytest

from coterie.gateway.door import rates
from coterie.gateway.door.rates import Rates, TooManyRequests


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_of_a_minutes_worth_then_evenly() -> None:
    clock = Clock()
    counted = Rates(clock)
    for _ in range(60):
        counted.take("ada", per_minute=60)
    assert counted.spent("ada", per_minute=60)
    with pytest.raises(TooManyRequests) as refused:
        counted.take("ada", per_minute=60)
    assert refused.value.fields["wait_s"] == 1
    counted.take("bob", per_minute=60)
    clock.now += 1.001
    assert not counted.spent("ada", per_minute=60)
    counted.take("ada", per_minute=60)
    with pytest.raises(TooManyRequests):
        counted.take("ada", per_minute=60)


def test_who_is_refused_waits_no_longer_for_asking_again() -> None:
    clock = Clock()
    counted = Rates(clock)
    counted.take("ada", per_minute=1)
    for _ in range(10):
        with pytest.raises(TooManyRequests):
            counted.take("ada", per_minute=1)
    clock.now += 60.001
    counted.take("ada", per_minute=1)


def test_many_askers_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REMEMBERED", 3)
    counted = Rates(Clock())
    for number in range(4):
        counted.take(str(number), per_minute=1)
    assert not counted.spent("0", per_minute=1)
    assert counted.spent("3", per_minute=1)
