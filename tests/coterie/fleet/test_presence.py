"""Check-ins write a narrow table; a device's row says that it is present until it is found to be gone."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from coterie.core.resting import LONGEST_S
from coterie.fleet.models import LONGEST_PRESENCE, Device, Presence, PresenceKept
from coterie.fleet.presence import FOLLOWED_FOR, end_presence, is_silent_since, record_presence, settle
from coterie.fleet.selectors import present_devices, why_not_ready
from coterie.fleet.services import expect_check_in, revoke_device
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, DataMetadata
from coterie_wire.version import PROTOCOL
from tests.coterie.world import ON_BATTERY, hear, later, make_device

pytestmark = pytest.mark.django_db
READY = CheckIn(PROTOCOL, Conditions(), metadata=DataMetadata(samples=9))
STEADY_S = 15.0


def heard(device: Device, seconds: float, check_in: CheckIn = READY) -> list[str]:
    """What one check-in of the device writes to devices' rows, as it is read first."""
    device.refresh_from_db()
    with CaptureQueriesContext(connection) as captured:
        hear(device, check_in, later(seconds), check_in_s=STEADY_S)
    written = [query["sql"] for query in captured.captured_queries]
    return [sql for sql in written if 'times: UPDATE "fleet_device"' in sql]


def present(seconds: float) -> list[Device]:
    settle(now=later(seconds))
    return list(present_devices(now=later(seconds)))


def test_a_row_is_written_when_its_device_comes_and_when_it_goes() -> None:
    device = make_device("d")
    assert heard(device, 0)
    for number in range(1, 20):
        assert not heard(device, number * STEADY_S)
        assert present(number * STEADY_S) == [device]
    last = 19 * STEADY_S
    assert Presence.objects.get().seen_at == later(last)
    assert present(last + 2.5 * STEADY_S) == [device]
    assert present(last + 2.5 * STEADY_S + 1) == []
    device.refresh_from_db()
    assert (device.last_seen_at, device.tracked) == (later(last), False)
    assert why_not_ready(device, now=later(last + 60))[0].sentence.startswith("the device was last seen 60 s ago")
    assert not Presence.objects.exists()
    assert heard(device, last + 100)
    assert present(last + 101) == [device]


def test_nobody_is_looked_for_before_the_first_can_be_gone() -> None:
    assert settle(now=later(0)) == LONGEST_S
    heard(make_device("d"), 0)
    heard(make_device("e"), 5)
    assert settle(now=later(6)) == 2.5 * STEADY_S - 6
    assert settle(now=later(40)) == 0.0, "the first was gone"
    assert settle(now=later(40)) == 5 + 2.5 * STEADY_S - 40


def test_what_differs_is_written_and_says_nothing_about_presence() -> None:
    device = make_device("d")
    heard(device, 0)
    for number, other in enumerate(
        [
            CheckIn(PROTOCOL, Conditions(charging="no")),
            CheckIn(PROTOCOL, Conditions(charging="no"), blockers=(ON_BATTERY,)),
            CheckIn(PROTOCOL, Conditions(charging="no"), blockers=(ON_BATTERY,), metadata=DataMetadata(samples=10)),
        ]
    ):
        (written,) = heard(device, 10.0 * (number + 1), other)
        assert "present_until" not in written
        assert not heard(device, 10.0 * (number + 1) + 5, other)


def test_a_row_is_written_anew_before_its_time_is_over() -> None:
    device = make_device("d")
    heard(device, 0)
    almost_s = FOLLOWED_FOR.total_seconds() - 2.5 * STEADY_S
    for seconds, expected in ((almost_s, False), (almost_s + 1, True)):
        Presence.objects.update(until=later(seconds + 1))
        assert bool(heard(device, seconds)) is expected
        assert present(seconds) == [device]


def test_a_device_that_comes_rarely_is_present_for_a_day_at_most() -> None:
    device = make_device("d")
    hear(device, READY, later(0), check_in_s=6 * 3_600)
    assert present(15 * 3_600) == [device]
    device.refresh_from_db()
    hear(device, READY, later(6 * 3_600), check_in_s=24 * 3_600)
    day_s = LONGEST_PRESENCE.total_seconds()
    assert present(6 * 3_600 + day_s) == [device]
    assert present(6 * 3_600 + day_s + 1) == []


def test_who_is_found_to_be_gone_while_it_checks_in_is_there_all_the_same() -> None:
    device = make_device("d")
    heard(device, 0)
    read = Device.objects.get()
    assert present(60) == []
    read.check_in_s = STEADY_S
    record_presence([read], now=later(61))
    assert present(62) == [device]


def test_a_clock_that_was_set_back_leaves_nobody_present_who_is_not() -> None:
    device = make_device("d")
    heard(device, 30 * 86_400)
    assert present(0) == []
    heard(device, 1)
    assert present(2) == [device]


def test_after_postgresql_has_emptied_the_table_each_device_has_its_time_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("coterie.fleet.presence.AT_ONCE", 2)
    devices = [make_device(f"d{number}") for number in range(5)]
    never = make_device("never")
    for device in devices:
        heard(device, 0)
    settle(now=later(1))
    assert PresenceKept.objects.exists()
    Presence.objects.all().delete()
    PresenceKept.objects.all().delete()  # as a crash does

    unheard = Device.objects.filter(is_silent_since(later(500)))
    assert not unheard.exists(), "nobody is given up for what the platform has lost"
    heard(devices[0], 1_000)
    for _ in range(3):  # two at a time; a worker that is killed in between goes on
        settle(now=later(1_000))
        assert set(present_devices(now=later(1_000))) == set(devices)
    assert PresenceKept.objects.exists()
    for device in devices[:3]:
        heard(device, 1_020)
    assert set(present(1_000 + 2.5 * STEADY_S + 1)) == set(devices[:3])
    assert not Presence.objects.filter(device=never).exists()
    lost = Device.objects.filter(pk__in=[device.pk for device in devices[3:]])
    assert {device.last_seen_at for device in lost} == {later(1_000)}, "when the platform began to wait for them"


def test_what_a_process_of_the_former_release_has_heard_is_not_overwritten() -> None:
    device = make_device("d")
    heard(device, 0)
    Device.objects.update(last_seen_at=later(30), present_until=later(67.5))  # as it writes each check-in
    assert not Device.objects.filter(is_silent_since(later(20))).exists()
    assert present(60) == [device]
    device.refresh_from_db()
    assert (device.last_seen_at, device.present_until, device.tracked) == (later(30), later(67.5), False)
    assert present(68) == []


def test_a_worker_of_the_former_release_does_not_take_a_device_at_work_for_silent() -> None:
    device = make_device("d")
    for seconds in range(0, 60, 2):
        device.refresh_from_db()
        hear(device, READY, later(seconds), check_in_s=2.0)
        assert Device.objects.filter(last_seen_at__gte=later(seconds - 5)).exists()


def test_a_device_that_was_revoked_says_when_it_was_heard_of_last(now: datetime) -> None:
    device = make_device("d")
    heard(device, 0)
    heard(device, 10)
    revoke_device(device=device, now=later(12))
    device.refresh_from_db()
    assert (device.last_seen_at, device.tracked) == (later(10), False)
    assert not Presence.objects.exists()
    stale = Device.objects.get()
    stale.state, stale.tracked = Device.State.ENROLLED, True
    expect_check_in(device=stale, check_in_s=STEADY_S)
    record_presence([stale], now=later(13))  # its batch was answered meanwhile
    settle(now=later(100))
    device.refresh_from_db()
    assert device.last_seen_at == later(10)
    assert not Presence.objects.exists()
    end_presence(device)  # twice changes nothing


def test_lists_say_when_a_device_was_heard_of_last(api: APIClient, now: datetime) -> None:
    gone, there = make_device("gone"), make_device("there")
    hear(gone, READY, now - timedelta(seconds=600), check_in_s=STEADY_S)
    settle(now=now)
    for seconds in (1_200, 0):
        there.refresh_from_db()
        hear(there, READY, now - timedelta(seconds=seconds), check_in_s=STEADY_S)
    listed = api.get("/api/devices/?sort=-last_seen_at").json()["results"]
    assert [device["name"] for device in listed] == ["there", "gone"]
    assert [datetime.fromisoformat(device["last_seen_at"]) for device in listed] == [now, now - timedelta(seconds=600)]
    assert datetime.fromisoformat(api.get(f"/api/devices/{there.pk}/").json()["last_seen_at"]) == now


@pytest.mark.skipif(connection.vendor != "postgresql", reason="another database has no such tables")
def test_postgresql_keeps_no_log_of_them() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY relname")
        assert cursor.fetchall() == [("fleet_presence",), ("fleet_presencekept",)]
