"""What is left over on the disk, and when it goes."""

import hashlib
from pathlib import Path
from uuid import UUID

import pytest

from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.registry.content import BLOBS
from coterie.rounds.advancing import sweep
from coterie.rounds.files import UPLOADS
from coterie.rounds.models import Round, Upload
from coterie.rounds.tidying import tidy
from tests.coterie.world import (
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
DAY_S = 86_400


@pytest.fixture
def devices() -> list[ScriptedDevice]:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=1, deadline_s=60)
    return fleet_of(2)


def assigned(device: ScriptedDevice) -> str:
    directive = device.check_in(later(0))
    assert directive.assignment is not None
    return directive.assignment.assignment


def send_half(device: ScriptedDevice, assignment: str) -> None:
    payload = device.payload(1)
    device.offer(assignment, payload, later(1))
    assert not device.send(assignment, payload[:50], 0, later(1)).accepted


def test_updates_are_removed_a_while_after_their_round(devices: list[ScriptedDevice], tmp_path: Path) -> None:
    devices[0].deliver(assigned(devices[0]), later(1), seed=1)
    round_ = Round.objects.get()
    received = updates_of(round_.pk)
    counted = received.local_path(Update.objects.all()[0].sha256, tmp_path)
    never_counted = received.local_path(received.put_bytes(b"its worker was killed before the row").sha256, tmp_path)
    half_written = counted.with_name(".draft-1")
    half_written.touch()
    sweep(now=later(2))
    merge_round(round_, clock=lambda: later(3), merger=in_this_process)
    tidy(now=later(6 * DAY_S))
    assert counted.exists()
    tidy(now=later(8 * DAY_S))
    assert not any(path.exists() for path in (counted, never_counted, half_written))
    round_.refresh_from_db()
    assert round_.result_version is not None
    assert BLOBS.local_path(round_.result_version.parameters_id, tmp_path).exists()


def test_an_upload_under_way_stays(devices: list[ScriptedDevice]) -> None:
    assignment = assigned(devices[0])
    send_half(devices[0], assignment)
    tidy(now=later(2))
    assert UPLOADS.arrived_bytes(UUID(assignment), hashlib.sha256(devices[0].payload(1)).hexdigest()) == 50
    assert Upload.objects.count() == 1


def test_an_upload_that_nobody_waits_for_is_forgotten(devices: list[ScriptedDevice]) -> None:
    assignment = assigned(devices[0])
    send_half(devices[0], assignment)
    Round.objects.update(state=Round.State.CLOSING)  # its worker was killed before it forgot the upload
    tidy(now=later(2))
    assert UPLOADS.arrived_bytes(UUID(assignment), hashlib.sha256(devices[0].payload(1)).hexdigest()) == 0
    assert not Upload.objects.exists()


def test_a_file_that_came_after_its_upload_was_forgotten_goes(devices: list[ScriptedDevice]) -> None:
    assignment = UUID(assigned(devices[0]))
    UPLOADS.store.create(f"{assignment}/{'0' * 64}/{0:015}", b"written while the round closed")
    tidy(now=later(2))
    assert UPLOADS.keys() == set()
