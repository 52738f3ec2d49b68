"""The sweep of rounds says for how long nothing becomes due by itself; all else that it waits for is a change."""

import pytest
from django.db import connection

from coterie.core.resting import CHANGES, LONGEST_S
from coterie.federations.models import Federation
from coterie.federations.services import pause_federation
from coterie.fleet.presence import settle
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie.rounds.opening import REASON_VALID_FOR
from tests.coterie.world import ON_BATTERY, fleet_of, later, make_federation, make_pair, make_version


def federation(**pace: float) -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, **pace)


def rests_s(at_s: float) -> float:
    sweep(now=later(at_s))
    return sweep(now=later(at_s))


@pytest.mark.django_db
class TestRest:
    def test_is_long_where_nothing_is_to_be_done(self) -> None:
        assert sweep(now=later(0)) == LONGEST_S

    def test_is_long_while_devices_are_too_few(self) -> None:
        federation(target_updates=2, min_updates=2)
        fleet_of(1)
        lasts_s = REASON_VALID_FOR.total_seconds()
        assert rests_s(0) == LONGEST_S
        assert rests_s(1) == lasts_s - 1, "what is told is not looked at again before"
        assert rests_s(lasts_s) == LONGEST_S, "it was looked at, and is still true"

    def test_is_over_when_a_pause_is(self) -> None:
        federation(target_updates=1, min_updates=1, deadline_s=10.0, pause_s=3.0)
        (device,) = fleet_of(1)
        device.check_in(later(0))
        assert rests_s(0) == 0.0, "a round is open"
        rests_s(11)
        assert Round.objects.filter(state="abandoned").count() == 1
        assert rests_s(12) == 2.0
        device.check_in(later(14))
        sweep(now=later(14))
        assert Round.objects.filter(state="open").count() == 1

    def test_is_long_while_the_federation_is_paused(self) -> None:
        pause_federation(federation=federation(), now=later(0))
        assert rests_s(0) == LONGEST_S

    def test_is_long_where_every_device_learns_by_itself(self) -> None:
        pair = make_pair()
        make_version(pair)
        make_federation(pair, plan={"pace": {"kind": "alone"}})
        assert rests_s(0) == LONGEST_S


@pytest.mark.django_db(transaction=True)
def test_whoever_may_let_a_round_open_ends_the_rest_and_whoever_tells_nothing_new_does_not() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("of embedded mode")
    federation(target_updates=2, min_updates=2)
    first, second = fleet_of(2)
    first.check_in(later(0))
    second.check_in(later(0), blockers=(ON_BATTERY,))
    rests_s(0)
    settle(now=later(0))

    seen = CHANGES.count
    for number in range(1, 4):
        first.check_in(later(number))
        second.check_in(later(number), blockers=(ON_BATTERY,))
        sweep(now=later(number))
        assert settle(now=later(number)) > 0
    assert CHANGES.count == seen

    second.check_in(later(10))
    assert CHANGES.count > seen
    sweep(now=later(10))
    assert Round.objects.get().state == "open"
