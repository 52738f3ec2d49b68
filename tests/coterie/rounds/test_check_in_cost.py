"""What a check-in, an update and a sweep ask of the database does not grow with the fleet."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coterie.core.credentials import hash_secret
from coterie.fleet.counting import count_devices
from coterie.fleet.models import Device, Presence
from coterie.fleet.presence import settle
from coterie.rounds.advancing import sweep
from coterie.rounds.assigning import release_assignment
from coterie.rounds.directives import Call, check_in_all
from coterie.rounds.models import Assignment, Round
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn
from coterie_wire.version import PROTOCOL
from tests.coterie.world import (
    ON_BATTERY,
    START,
    ScriptedDevice,
    fleet_of,
    later,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db
READS_ALL = ("COUNT(", "GROUP BY")
"""What no query of a check-in does."""


def others(count: int) -> None:
    """So many devices that are there, ready and silent."""
    Device.objects.bulk_create(
        Device(
            name=f"other-{number}",
            credential_hash=hash_secret(f"other-{number}"),
            enrolled_at=START,
            last_seen_at=START,
            present_until=START + timedelta(days=1),
        )
        for number in range(count)
    )


def queries(work: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured.captured_queries]


def checking_in(devices: list[ScriptedDevice], seconds: float) -> list[str]:
    message = CheckIn(PROTOCOL, Conditions(charging="yes"))
    for device in devices:
        device.row.refresh_from_db()
    return queries(lambda: check_in_all([Call(device.row, message) for device in devices], now=later(seconds)))


@pytest.fixture
def open_round() -> Round:
    """It wants more devices than there are."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=500, min_updates=1, over_selection=1)
    (first,) = fleet_of(1)
    first.check_in(later(0))
    return Round.objects.get()


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "not asked"])
def test_a_check_in_is_as_many_queries_in_a_small_fleet_as_in_a_large_one(asked: bool) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=500, min_updates=1 if asked else 500, over_selection=1)
    (device,) = fleet_of(1)
    device.check_in(later(0))
    checking_in([device], 1)  # what it tells for the first time is kept
    small = checking_in([device], 1)
    others(300)
    sweep(now=later(7))
    assert Assignment.objects.count() == (301 if asked else 0)
    large = checking_in([device], 8)
    assert len(large) == len(small)
    assert not [sql for sql in large if any(word in sql for word in READS_ALL)]


def test_many_check_ins_together_are_as_many_queries_as_one(open_round: Round) -> None:
    sweep(now=later(0))
    devices = [ScriptedDevice(row) for row in Device.objects.all()] + many(20)
    alone = [len(checking_in([device], 1)) for device in devices]
    together = checking_in(devices, 2)
    assert len(together) <= max(alone)
    assert Assignment.objects.filter(round=open_round).count() == len(devices)
    assert Presence.objects.filter(seen_at=later(2)).count() == len(devices)


def many(count: int) -> list[ScriptedDevice]:
    return [
        ScriptedDevice(Device.objects.create(name=name, credential_hash=hash_secret(name), enrolled_at=START))
        for name in (f"many-{number}" for number in range(count))
    ]


def test_an_update_is_as_many_queries_in_a_small_round_as_in_a_large_one(open_round: Round) -> None:
    early, late = ([ScriptedDevice(row) for row in Device.objects.all()] + many(1))[:2]
    first, second = (device.check_in(later(1)).assignment.assignment for device in (early, late))
    small = queries(lambda: early.deliver(first, later(2), seed=1))
    others(300)
    sweep(now=later(7))
    assert Assignment.objects.filter(round=open_round).count() == 302
    large = queries(lambda: late.deliver(second, later(8), seed=2))
    assert len(large) == len(small)
    assert not [sql for sql in large if any(word in sql for word in READS_ALL)]


def test_a_sweep_over_an_open_round_is_as_many_queries_however_many_take_part(open_round: Round) -> None:
    sweep(now=later(1))
    small = queries(lambda: sweep(now=later(2)))
    others(300)
    sweep(now=later(7))
    assert Assignment.objects.filter(round=open_round).count() == 301
    assert len(queries(lambda: sweep(now=later(8)))) == len(small)


def test_a_sweep_that_finds_nothing_due_holds_nothing(open_round: Round) -> None:
    sweep(now=later(1))
    assert not [sql for sql in queries(lambda: sweep(now=later(2))) if sql.startswith(("SAVEPOINT", "BEGIN", "UPDATE"))]


def test_a_ready_device_takes_a_place_that_the_sweep_left_and_no_other(open_round: Round) -> None:
    Round.objects.filter(pk=open_round.pk).update(places=1)
    first, second = many(2)
    assert first.say(later(1)).assignment is not None
    directive = second.say(later(1))
    assert (directive.assignment, directive.wait.code) == (None, "rounds.full")
    Round.objects.filter(pk=open_round.pk).update(places=1)
    assert second.say(later(2), blockers=(ON_BATTERY,)).assignment is None
    assert second.say(later(3)).assignment is not None


def test_a_device_that_gives_its_part_back_leaves_its_place_to_another() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1, over_selection=1)
    first, second = many(2)
    part = first.check_in(later(0)).assignment.assignment
    assert second.say(later(1)).wait.code == "rounds.full"
    release_assignment(device=first.row, assignment_id=part, reason=ON_BATTERY, now=later(2))
    assert second.check_in(later(3)).assignment is not None
    assert first.say(later(4)).wait.code == ON_BATTERY.code, "a device is asked once a round"


@pytest.mark.parametrize(("budget", "interval_s"), [(200, 15.0), (10, 40.0)])
def test_a_large_fleet_is_asked_to_check_in_less_often(settings, budget: int, interval_s: float) -> None:
    settings.CHECK_INS_PER_SECOND = budget
    others(399)
    (device,) = fleet_of(1)
    assert device.say(later(0)).check_in_s == 15.0, "nobody has counted yet"
    count_devices(now=later(1))
    assert device.say(later(2)).check_in_s == interval_s
    device.row.refresh_from_db()
    assert device.row.is_present(later(2 + 2.5 * interval_s))


def test_a_device_that_is_asked_less_often_than_a_pace_allows_for_is_not_dropped_before(settings) -> None:
    settings.CHECK_INS_PER_SECOND = 10
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=401, min_updates=1, over_selection=1, absent_s=5)
    others(400)
    count_devices(now=later(0))
    (device,) = fleet_of(1)
    interval_s = device.check_in(later(1)).check_in_s
    assert interval_s == 40.0
    sweep(now=later(2 * interval_s))
    assert Assignment.objects.get(device=device.row).state == Assignment.State.OFFERED
    settle(now=later(2 + 2.5 * interval_s))
    sweep(now=later(2 + 2.5 * interval_s))
    assert Assignment.objects.get(device=device.row).state == Assignment.State.DROPPED


def test_a_very_large_round_asks_in_parts_and_asks_nobody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.rounds.opening.INVITED_AT_ONCE", 7)
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=18, min_updates=1, over_selection=1)
    others(20)
    asked = []
    for seconds in range(4):
        sweep(now=later(seconds))
        asked.append(Assignment.objects.count())
    assert asked == [7, 14, 18, 18]
    assert Round.objects.get().places == 0


def test_a_sweep_asks_no_more_of_several_federations_in_their_pauses_than_of_one() -> None:
    def sweeping(name: str) -> int:
        pair = make_pair(slug=name)
        make_version(pair)
        make_federation(pair, name=name, pause_s=100)
        sweep(now=START)  # plans its round
        Round.objects.update(opens_at=later(100))
        sweep(now=later(1))  # says why it waits
        return len(queries(lambda: sweep(now=later(1))))

    assert sweeping("first") == sweeping("second") == sweeping("third") <= 5


def test_a_sweep_looks_only_for_devices_where_a_round_has_just_waited_for_some() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2)
    fleet_of(1)[0].check_in(later(0))
    assert Round.objects.get().reason_code == "rounds.needs_devices"
    of_champions = {
        seconds: [query for query in queries(lambda at=seconds: sweep(now=later(at))) if "registry_alias" in query]  # type: ignore[misc]
        for seconds in (1, 60, -60)
    }
    assert not of_champions[1]
    assert of_champions[60] and of_champions[-60], (
        "it looks at everything from time to time, and when a clock was set back"
    )
