"""A stored update that the disk has changed costs that update, and comes back from a copy where there is one."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as platform_settings

from coterie.fleet.models import Device
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.repairs.faults import find_faults
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.scrubbing import READ_EVERY, scrub_updates
from tests.coterie.world import (
    START,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db
DAY_S = READ_EVERY.total_seconds()


@pytest.fixture(autouse=True)
def _leave_no_damage() -> Iterator[None]:
    """Files outlive the tests, whose rounds have the same numbers."""
    yield
    for round_ in Round.objects.all():
        updates_of(round_.pk).clear()


def path_of(update: Update) -> Path:
    return Path(platform_settings.STATE) / updates_of(update.cohort).place(update.sha256)


def flip(update: Update) -> None:
    content = bytearray(path_of(update).read_bytes())
    content[len(content) // 2] ^= 1
    path_of(update).write_bytes(content)


def collecting() -> list[ScriptedDevice]:
    """A round that wants two updates and waits for the second, and a third device that nobody has asked."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=1, over_selection=1.0, deadline_s=10 * DAY_S)
    fleet = fleet_of(3)
    for seed, device in enumerate(fleet[:2]):
        assignment = device.check_in(later(0)).assignment
        assert assignment is not None
        if seed == 0:
            device.deliver(assignment.assignment, later(1), seed=1)
    return fleet


def test_a_damaged_update_makes_room_for_another_and_is_not_merged() -> None:
    fleet = collecting()
    damaged = Update.objects.get()
    flip(damaged)
    at = 2 * DAY_S
    assert scrub_updates(now=later(at)).damaged == (damaged.sha256,)
    damaged.refresh_from_db()
    assert (damaged.fault_code, Round.objects.get().updates_in) == ("update.damaged", 0)
    (fault,) = [found for found in find_faults(now=later(at)) if found.key == "updates_damaged"]
    assert fault.sentence.startswith(
        f"One stored update was found damaged or lost before the merge, the last of {fleet[0].row}"
    )
    assert RoundEvent.objects.filter(kind="rejected", device=fleet[0].row, reason_code="update.damaged").exists()
    second = Assignment.objects.get(device=fleet[1].row)
    fleet[1].check_in(later(at))  # it was dropped while it was silent
    fleet[1].deliver(str(second.pk), later(at + 1), seed=2)
    third = fleet[2].check_in(later(at + 2)).assignment
    assert third is not None, "another device is asked in place of the one whose update is lost"
    fleet[2].deliver(third.assignment, later(at + 3), seed=3)
    sweep(now=later(at + 4))
    round_ = Round.objects.get(state="merging")
    merge_round(round_, clock=lambda: later(at + 5), merger=in_this_process)
    assert (round_.state, round_.metrics["updates"]) == ("published", 2)
    damaged.refresh_from_db()
    assert damaged.merge is None
    assert not Device.objects.exclude(quarantine="").exists()


def test_a_copy_replaces_a_damaged_update(settings, tmp_path: Path) -> None:
    collecting()
    update = Update.objects.get()
    copy = tmp_path / updates_of(update.cohort).place(update.sha256)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path_of(update).read_bytes())
    flip(update)
    settings.COPIES = (tmp_path,)
    found = scrub_updates(now=later(2 * DAY_S))
    assert (found.repaired, found.damaged) == ((update.sha256,), ())
    assert path_of(update).read_bytes() == copy.read_bytes()
    update.refresh_from_db()
    assert (update.fault_code, Round.objects.get().updates_in) == ("", 1)


def test_an_update_is_read_once_a_day_while_it_waits() -> None:
    collecting()
    assert scrub_updates(now=later(60)).files == 0, "it was hashed when it came"
    assert [scrub_updates(now=later(days * DAY_S + 60)).files for days in (1, 1.5, 2.1)] == [1, 0, 1]
    assert scrub_updates(now=START - timedelta(days=400)).files == 1, "whichever way the clock was set"
    assert scrub_updates(now=later(60), bytes_at_once=None).files == 1


def test_an_update_that_went_into_a_merge_is_judged_by_the_merge() -> None:
    fleet = collecting()
    second = Assignment.objects.get(device=fleet[1].row)
    fleet[1].deliver(str(second.pk), later(2), seed=2)
    sweep(now=later(3))
    for update in Update.objects.all():
        flip(update)
    assert scrub_updates(now=later(2 * DAY_S), bytes_at_once=None).files == 0
    assert not Update.objects.exclude(fault_code="").exists()
