"""Who is gone: by what others answer, not by seconds; slow platforms, stalls and kills on a clock of the test's own."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.merging.models import Update
from coterie.rounds.lost_supernodes import MIN_ANSWER_TIME, CheckIns, is_gone, record_lost_socket
from coterie.rounds.models import Fold
from tests.coterie.rounds.test_supernodes import MEMBERS, Site, by_star
from tests.coterie.world import later

ASKED = later(100)
CYCLES = st.lists(st.floats(0, 4.9), min_size=1, max_size=60)
"""Seconds by which each check-in of a device comes later than the quickest."""


def heard(last_s: float, before_s: float | None) -> CheckIns:
    return CheckIns(later(last_s), None if before_s is None else later(before_s))


@pytest.mark.parametrize(
    ("others", "seconds", "gone"),
    [
        ([], 1000, False),
        ([heard(99, 97)], 1000, False),
        ([heard(102, 99)], 1000, False),
        ([heard(102, None)], 1000, False),
        ([heard(102, 101)], 102, False),
        ([heard(102, 101)], 103, True),
        ([heard(102, 101), heard(102, 90)], 103, True),
        ([heard(102, 101), heard(102, 90), heard(102, 90)], 103, False),
        ([heard(102, 101), heard(99, 90), heard(99, 90)], 103, True),
    ],
    ids=lambda value: str(value) if not isinstance(value, list) else f"{len(value)} others",
)
def test_who_does_not_come_is_gone_when_others_have_come_twice(
    others: list[CheckIns], seconds: float, gone: bool
) -> None:
    assert is_gone(ASKED, others, now=later(seconds)) is gone


def came(slowness_s: float, delays_s: list[float], *, first_s: float, until_s: float) -> list[float]:
    """When check-ins of one device are taken in by a platform that takes so long for each."""
    times, at_s = [first_s], first_s
    while at_s < until_s:
        at_s += slowness_s + delays_s[len(times) % len(delays_s)]
        times.append(at_s)
    return times


def latest(times: list[float], now_s: float) -> CheckIns:
    known = [at for at in times if at <= now_s]
    return heard(known[-1], known[-2] if len(known) > 1 else None)


@given(st.floats(2, 120), CYCLES, st.lists(st.tuples(st.floats(0, 2), CYCLES), min_size=1, max_size=6))
def test_no_slowness_of_the_platform_makes_a_device_gone_that_is_there(
    slowness_s: float, delays_s: list[float], others: list[tuple[float, list[float]]]
) -> None:
    """It is missed five seconds after each check-in, and every second the platform looks."""
    until_s = 4 * slowness_s + 20
    device = came(slowness_s, delays_s, first_s=0, until_s=until_s)
    rest = [came(slowness_s, found, first_s=first_s, until_s=until_s) for first_s, found in others]
    for last_s, next_s in pairwise(device):
        asked_s = last_s + 5
        for look in range(int(max(0, next_s - asked_s)) + 1):
            now_s = asked_s + look
            if now_s < next_s:
                known = [latest(times, now_s) for times in rest]
                assert not is_gone(later(asked_s), known, now=later(now_s))


@given(st.floats(2, 120), st.lists(st.tuples(st.floats(0, 2), CYCLES), min_size=1, max_size=6))
def test_who_is_gone_is_found_once_others_have_come_twice(
    slowness_s: float, others: list[tuple[float, list[float]]]
) -> None:
    until_s = 4 * slowness_s + 40
    rest = [came(slowness_s, found, first_s=first_s, until_s=until_s) for first_s, found in others]
    asked_s = 3.0
    found_s = asked_s + MIN_ANSWER_TIME.total_seconds() + 2 * (slowness_s + 5) + 1
    assert is_gone(later(asked_s), [latest(times, found_s) for times in rest], now=later(found_s))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.django_db
def test_a_platform_that_answers_late_waits_for_a_supernode_that_is_there(site: Site) -> None:
    """Check-ins take twelve seconds, those of its neighbours too, and one sum comes as if nothing had been."""
    site.collect()
    order = site.order(3)
    for seconds in (9, 12, 14):
        site.advance(seconds)
    for number, member in enumerate(site.members):
        member.say(later(15 + number))
        site.advance(15 + number)
    assert Fold.objects.get().missed_since == later(9)
    assert site.leader.say(later(18)).lead is not None
    site.advance(19)
    assert Fold.objects.get().missed_since is None
    assert site.send(order.fold, site.desk.sum(order), 20).accepted
    assert site.published(21) == by_star()
    assert Update.objects.filter(merge=site.round.merge).exclude(partial=None).count() == MEMBERS


@pytest.mark.django_db
def test_who_is_cut_off_is_missed_at_once_and_waited_for_no_longer_than_until_anybody_comes(site: Site) -> None:
    """Before it is asked for its sum: the round has gone on with what the others have."""
    site.collect()
    record_lost_socket(device_id=str(site.leader.row.pk), heard_at=later(2), now=later(2.5))
    site.advance(3)
    site.advance(3)
    assert Fold.objects.get().missed_since == later(3)
    site.advance(7)
    assert Fold.objects.get().state == Fold.State.ASKED, "nobody has come since"
    assert site.members[0].assignment(later(7)).route is not None
    site.advance(7.5)
    assert Fold.objects.get().reason_code == "route.supernode_silent"
    for seed, member in enumerate(site.members, start=1):
        assert member.assignment(later(8)).route is None
        member.deliver_directly(later(8), seed=seed)
    assert site.published(9) == by_star()


@pytest.mark.django_db
def test_who_is_cut_off_and_connects_again_is_waited_for(site: Site) -> None:
    site.collect()
    order = site.order(3)
    record_lost_socket(device_id=str(site.leader.row.pk), heard_at=later(3), now=later(3.5))
    site.advance(3.6)
    assert Fold.objects.get().missed_since == later(3.6)
    site.leader.say(later(4))
    for member in site.members:
        member.say(later(5))
    site.advance(8)
    assert Fold.objects.get().missed_since is None
    assert site.send(order.fold, site.desk.sum(order), 8.5).accepted


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["leader", "member-1"])
def test_a_socket_that_breaks_off_changes_nothing_where_nobody_waits_or_its_device_has_another(
    site: Site, name: str
) -> None:
    site.collect()
    site.order(3)
    site.leader.say(later(4))
    row = next(device.row for device in (site.leader, *site.members) if device.row.name == name)
    record_lost_socket(device_id=str(row.pk), heard_at=later(3), now=later(4.5))
    site.advance(5)
    row.refresh_from_db()
    assert (row.broke_off_at, Fold.objects.get().missed_since) == (None, None)
