"""A clock that is set back by an hour lengthens neither a pause nor a deadline by an hour."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.federations.models import Federation
from coterie.rounds import reasons
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Round
from tests.coterie.world import fleet_of, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db

HOUR_S = 3600.0


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, target_updates=2, min_updates=1, deadline_s=60.0, pause_s=30.0)


def active(federation: Federation, at_s: float) -> Round:
    advance_federation(federation_id=federation.pk, now=later(at_s))
    return Round.objects.exclude(state="abandoned").get()


def test_a_round_closes_after_its_deadline_at_the_latest_twice(federation: Federation) -> None:
    device, _ = devices = fleet_of(2)
    for each in devices:
        each.check_in(later(HOUR_S))
    assert active(federation, HOUR_S).state == "open"
    assert active(federation, 0).deadline_at == later(60)
    assigned = device.check_in(later(0)).assignment
    assert assigned is not None
    assert 0 < assigned.remaining_s <= 60
    device.deliver(assigned.assignment, later(1), seed=1)
    assert active(federation, 50).state == "open"
    assert active(federation, 70).state == "merging"


def test_a_small_step_changes_nothing(federation: Federation) -> None:
    for each in fleet_of(2):
        each.check_in(later(HOUR_S))
    opened_at = active(federation, HOUR_S).opened_at
    assert active(federation, HOUR_S - 5).opened_at == opened_at


def test_a_pause_is_at_most_as_long_again(federation: Federation) -> None:
    devices = fleet_of(2)
    for each in devices:
        each.check_in(later(HOUR_S))
    active(federation, HOUR_S)
    advance_federation(federation_id=federation.pk, now=later(HOUR_S + 61))
    assert Round.objects.get().state == "abandoned"
    assert active(federation, HOUR_S + 62).state == "planned"
    for each in devices:
        each.check_in(later(0))
    assert active(federation, 0).opens_at == later(30)
    for each in devices:
        each.check_in(later(31))
    assert active(federation, 31).state == "open"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "5 s"),
        (5, "5 s"),
        (8, "10 s"),
        (31, "40 s"),
        (110.5, "2 min"),
        (121, "3 min"),
        (7199, "2 h"),
        (7201, "3 h"),
    ],
)
def test_a_pause_is_told_in_steps_and_never_as_shorter_than_it_is(seconds: float, said: str) -> None:
    assert reasons.pause(seconds).sentence == f"the next round may open in {said}"


@given(seconds=st.floats(0.01, 20_000.0), share=st.floats(0.0, 0.999))
def test_what_is_told_of_a_pause_holds_for_as_long_as_is_said(seconds: float, share: float) -> None:
    holds_s = reasons.pause_holds_s(seconds)
    assert 0 < holds_s <= seconds
    assert reasons.pause(seconds - share * holds_s) == reasons.pause(seconds)
