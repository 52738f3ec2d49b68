"""Devices whose models others did not trust at meetings: what the platform hears of it when updates come home."""

from collections.abc import Sequence
from datetime import datetime

from coterie.fleet.models import Device
from coterie.fleet.services import quarantine_device
from coterie.rounds import reasons
from coterie.rounds.meeting import meeting_devices
from coterie.rounds.models import Assignment, RoundEvent
from coterie.rounds.transitions import end_assignment, tell


def hear_suspects(*, assignment: Assignment, named: Sequence[str], now: datetime) -> None:
    """The device of `assignment` offers its update, and says whose models lay far off.

    Where most of the others that meet in the round say so of one, it is put into quarantine, and its update is not
    waited for; so no minority that lies has an honest one struck off. Whoever calls holds the round.
    """
    if not named:
        return
    round_ = assignment.round
    meeting = {str(device.pk): device for device in meeting_devices(round_)}
    if str(assignment.device_id) not in meeting:
        return
    for device in (meeting[name] for name in sorted({*named}) if name in meeting and name != str(assignment.device_id)):
        reason = reasons.far_off(assignment.device.name)
        tell(round_.pk, RoundEvent.Kind.SUSPECTED, now=now, reason=reason, device_id=device.pk)
        said_by = RoundEvent.objects.filter(round=round_, kind=RoundEvent.Kind.SUSPECTED, device=device).count()
        if 2 * said_by > len(meeting) - 1:
            _strike_off(device, assignment, said_by, len(meeting) - 1, now)


def _strike_off(device: Device, said: Assignment, said_by: int, others: int, now: datetime) -> None:
    reason = reasons.poisoned(said_by, others)
    quarantine_device(device=device, why=reason.sentence, now=now)
    for part in Assignment.objects.filter(round=said.round_id, device=device):
        end_assignment(part, Assignment.State.REJECTED, reason=reason, now=now)
