"""Devices and workers at the same time, in threads with connections of their own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection

from coterie.merging.models import Update
from coterie.registry.models import ModelVersion
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie.rounds.uploads import complete_upload, open_upload
from coterie_wire.messages import UploadState
from tests.coterie.world import fleet_of, later, make_federation, make_pair, make_version, merge_round

# Committed for real: threads see what others have done.
pytestmark = pytest.mark.django_db(transaction=True)
R = TypeVar("R")
DEVICES = 6


def at_once(*actions: Callable[[], R]) -> list[R]:
    def run(action: Callable[[], R]) -> R:
        try:
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(run, action) for action in actions]]


def test_devices_deliver_and_workers_sweep_and_merge_at_once() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=DEVICES, min_updates=DEVICES, over_selection=1)
    devices = fleet_of(DEVICES)
    for device in devices:
        device.check_in(later(0))
    assignments = [device.check_in(later(1)).assignment for device in devices]
    parts = list(zip(devices, (part.assignment for part in assignments if part is not None), strict=True))

    states = at_once(
        *(partial(device.deliver, assignment, later(2), seed=seed) for seed, (device, assignment) in enumerate(parts)),
        *(lambda: sweep(now=later(2)) for _ in range(2)),
    )
    assert [state.accepted for state in states if isinstance(state, UploadState)] == [True] * DEVICES
    assert Update.objects.count() == DEVICES

    at_once(*(lambda: sweep(now=later(3)) for _ in range(3)))
    round_ = Round.objects.get(number=1)
    assert round_.state == "merging"
    at_once(*(lambda: merge_round(round_, clock=lambda: later(4)) for _ in range(3)))
    round_.refresh_from_db()
    assert round_.state == "published"
    assert round_.metrics["updates"] == DEVICES
    assert ModelVersion.objects.count() == 2


def test_the_same_upload_completed_twice_at_once_counts_once() -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2)
    (device,) = fleet_of(1)
    assignment = device.check_in(later(0)).assignment.assignment
    payload = device.payload(1)
    device.offer(assignment, payload, later(1))
    device.send(assignment, payload[:10], 0, later(1))
    open_upload(device.row, assignment, 10, later(1)).write(10, payload[10:])
    states = at_once(*(lambda: complete_upload(device.row, assignment, later(2)) for _ in range(4)))
    assert all(state.accepted for state in states)
    assert Update.objects.count() == 1
