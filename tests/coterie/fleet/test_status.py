"""A device stands in one way, and lists, totals and the device itself agree on it."""

from datetime import timedelta

import pytest

from coterie.fleet.models import Device
from coterie.fleet.selectors import present_devices, ready_devices, why_not_ready
from coterie.fleet.status import DeviceStatus, status_of, totals_by_status, with_status
from tests.coterie.world import START, make_device

pytestmark = pytest.mark.django_db

PRESENT = {"present_until": START + timedelta(minutes=1), "last_seen_at": START}
SILENT = {"present_until": START - timedelta(minutes=1), "last_seen_at": START - timedelta(minutes=2)}
BATTERY = {"blocked_by": "conditions.on_battery", "blockers": [{"code": "conditions.on_battery", "sentence": "…"}]}
CASES = {
    "revoked": (DeviceStatus.REVOKED, {**PRESENT, "state": "revoked"}),
    "left": (DeviceStatus.LEFT, {**PRESENT, **BATTERY, "state": "left"}),
    "quarantined": (DeviceStatus.QUARANTINED, {**PRESENT, "paused_at": START, "quarantine": "too loud"}),
    "quarantined and gone": (DeviceStatus.QUARANTINED, {**SILENT, "paused_at": START, "quarantine": "too loud"}),
    "new": (DeviceStatus.NEVER_SEEN, {}),
    "new and paused": (DeviceStatus.NEVER_SEEN, {"paused_at": START}),
    "absent": (DeviceStatus.ABSENT, {**SILENT, **BATTERY, "pinned_version": "v"}),
    "paused": (DeviceStatus.PAUSED, {**PRESENT, **BATTERY, "paused_at": START, "pinned_version": "v"}),
    "pinned": (DeviceStatus.PINNED, {**PRESENT, **BATTERY, "pinned_version": "v"}),
    "waiting": (DeviceStatus.WAITING, {**PRESENT, **BATTERY}),
    "ready": (DeviceStatus.READY, PRESENT),
}


@pytest.fixture
def fleet() -> None:
    for name, (_, columns) in CASES.items():
        Device.objects.filter(pk=make_device(name).pk).update(**columns)


def test_the_rules_say_the_same_in_the_database_and_in_python(fleet: None) -> None:
    for device in Device.objects.all():
        expected = CASES[device.name][0]
        assert status_of(device, now=START) is expected
        assert [s for s in DeviceStatus if device in with_status(Device.objects.all(), s, now=START)] == [expected]
        assert (not why_not_ready(device, now=START)) == (expected is DeviceStatus.READY)
        assert (device in ready_devices(now=START)) == (expected is DeviceStatus.READY)


def test_totals_count_each_device_once(fleet: None) -> None:
    totals = totals_by_status(Device.objects.all(), now=START)
    assert sum(totals.values()) == len(CASES)
    assert totals[DeviceStatus.WAITING, "conditions.on_battery"] == 1
    twice = (DeviceStatus.NEVER_SEEN, DeviceStatus.QUARANTINED)
    assert all(count == (2 if status in twice else 1) for (status, _), count in totals.items())


def test_a_device_in_quarantine_says_so_first_also_where_it_is_absent(fleet: None) -> None:
    for name in ("quarantined", "quarantined and gone"):
        first, *_ = why_not_ready(Device.objects.get(name=name), now=START)
        assert first.code == "fleet.quarantined"
        assert "too loud" in first.sentence


def test_a_clock_that_is_set_back_makes_nobody_present_for_long() -> None:
    device = make_device("hall")
    Device.objects.update(present_until=START + timedelta(minutes=1), last_seen_at=START)
    device.refresh_from_db()
    for now, present in ((START, True), (START - timedelta(hours=1), True), (START - timedelta(days=2), False)):
        assert device.is_present(now) is present_devices(now=now).exists() is present
        status = DeviceStatus.READY if present else DeviceStatus.ABSENT
        assert status_of(device, now=now) == status
        assert with_status(Device.objects.all(), status, now=now).exists()
