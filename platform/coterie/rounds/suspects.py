"""Devices whose models others report as far off at gossip meetings; the reports come with offers of updates."""

from collections.abc import Sequence
from datetime import datetime

from coterie.fleet.models import Device
from coterie.fleet.services import quarantine_device
from coterie.rounds import reasons
from coterie.rounds.meeting import meeting_devices
from coterie.rounds.models import Assignment, RoundEvent
from coterie.rounds.transitions import end_assignment, record_event


def record_suspects(*, assignment: Assignment, named: Sequence[str], now: datetime) -> None:
    """Record the devices whose models the device of `assignment` reports as far off, with the offer of its update.

    A device that most of the others in the round's meetings report is put into quarantine, and its update rejected; a
    dishonest minority cannot have an honest device rejected. The caller holds the round's row.
    """
    if not named:
        return
    round_ = assignment.round
    meeting = {str(device.pk): device for device in meeting_devices(round_)}
    if str(assignment.device_id) not in meeting:
        return
    for device in (meeting[name] for name in sorted({*named}) if name in meeting and name != str(assignment.device_id)):
        reason = reasons.far_off(assignment.device.name)
        record_event(round_.pk, RoundEvent.Kind.SUSPECTED, now=now, reason=reason, device_id=device.pk)
        reports = RoundEvent.objects.filter(round=round_, kind=RoundEvent.Kind.SUSPECTED, device=device).count()
        if 2 * reports > len(meeting) - 1:
            _reject(device, assignment, reports, len(meeting) - 1, now)


def _reject(device: Device, reporter: Assignment, reports: int, others: int, now: datetime) -> None:
    reason = reasons.poisoned(reports, others)
    quarantine_device(device=device, why=reason.sentence, now=now)
    for part in Assignment.objects.filter(round=reporter.round_id, device=device):
        end_assignment(part, Assignment.State.REJECTED, reason=reason, now=now)
