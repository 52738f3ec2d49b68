"""What rounds know of devices, who is asked because of it, and for how long somebody was not."""

import pytest

from coterie.federations.models import Federation
from coterie.federations.services import create_federation, start_federation
from coterie.rounds.advancing import advance_federation
from coterie.rounds.histories import history_of, participation_of
from coterie.rounds.models import Assignment
from coterie_learning.selection import DeviceFacts
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db


def federation_of(selection: dict[str, object]) -> Federation:
    """Rounds of one device."""
    pair = make_pair()
    make_version(pair)
    pace = {"kind": "sync", "target_updates": 1, "over_selection": 1}
    federation = create_federation(
        name="digits", pair=pair, plan={"pace": pace, "selection": selection}, now=later(0), seed=3
    )
    start_federation(federation=federation, now=later(0))
    return federation


def hold_round(federation: Federation, devices: list[ScriptedDevice], number: int, losses: list[float]) -> int:
    """The index of the device that was asked, after it has told its loss."""
    seconds = 10.0 * number
    for device in devices:
        device.say(later(seconds))
    for _ in range(2):  # planned, then opened
        advance_federation(federation_id=federation.pk, now=later(seconds))
    part = Assignment.objects.get(round__number=number)
    (asked,) = (index for index, device in enumerate(devices) if device.row.pk == part.device_id)
    payload = devices[asked].payload(number)
    state = devices[asked].offer(str(part.pk), payload, later(seconds + 1), loss_before=losses[asked])
    devices[asked].send(str(part.pk), payload[state.offset :], state.offset, later(seconds + 1))
    advance_federation(federation_id=federation.pk, now=later(seconds + 2))
    merge_round(federation.rounds.get(number=number), clock=lambda: later(seconds + 3), merger=in_this_process)
    return asked


@pytest.mark.long
def test_the_device_with_the_highest_loss_is_asked_once_all_have_told_theirs() -> None:
    federation = federation_of({"kind": "power_of_choice", "candidates": 100})
    devices = fleet_of(3)
    losses = [0.5, 2.5, 1.5]
    asked = [hold_round(federation, devices, number, losses) for number in range(1, 6)]
    assert sorted(asked[:3]) == [0, 1, 2], "those that have told nothing come first"
    assert asked[3:] == [1, 1]

    round_ = federation.rounds.get(number=5)
    known = history_of(round_, [str(device.row.pk) for device in devices])
    assert known[1] == DeviceFacts(str(devices[1].row.pk), 0, 2.5, 20, 0.1)
    told = participation_of(federation, now=later(54))
    assert (told.never, told.longest) == (0, max(told.devices))
    assert sum(told.devices.values()) == 3


@pytest.mark.long
def test_nobody_is_left_out_for_longer_than_the_plan_allows() -> None:
    federation = federation_of({"kind": "power_of_choice", "candidates": 100, "fair_rounds": 3})
    devices = fleet_of(2)
    asked = [hold_round(federation, devices, number, [0.5, 2.5]) for number in range(1, 8)]
    assert asked[2:] == [1, 1, 0, 1, 1] or asked.count(0) >= 2


def test_devices_that_were_never_asked_are_counted() -> None:
    federation = federation_of({"kind": "uniform"})
    devices = fleet_of(3)
    hold_round(federation, devices, 1, [1.0, 1.0, 1.0])
    told = participation_of(federation, now=later(14))
    assert (told.never, told.devices) == (2, {told.round_number - 1: 1})
