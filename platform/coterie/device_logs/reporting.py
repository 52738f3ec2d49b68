"""Records owners' decisions on requests for logs, and the lines that devices send."""

from datetime import UTC, datetime, timedelta

import msgspec
from django.db import transaction

from coterie.core.row_keys import key_of
from coterie.core.rows import insert_all
from coterie.device_logs import reasons
from coterie.device_logs.errors import NotAllowed, UnknownLog
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.device_logs.selectors import KEEP_DAYS
from coterie.device_logs.transitions import STEPS, State
from coterie.fleet.models import Device
from coterie_wire.device_log import DeliverLog, ReportLog


def record_decision(*, device: Device, report: ReportLog, now: datetime) -> None:
    """Record the owner's decision; reports after the end are ignored. Raises UnknownLog."""
    log = _log_of(device, report.request)
    if log.state != State.ASKED:
        return
    if report.outcome == "asking":
        STEPS.explain(log, report.reason)
    elif report.outcome == "allowed":
        STEPS.take(log, State.ALLOWED, reason=report.reason, allowed_at=now)
    else:
        STEPS.take(log, State.REFUSED, reason=report.reason, ended_at=now)


@transaction.atomic
def store_lines(*, device: Device, delivery: DeliverLog, now: datetime) -> None:
    """Store the lines of a log that its owner allows; the first delivery counts. Raises UnknownLog or NotAllowed."""
    log = _log_of(device, delivery.request)
    if log.state == State.DELIVERED:
        return
    if log.state != State.ALLOWED:
        raise NotAllowed(log=str(log.pk))
    delivered = STEPS.take(
        log,
        State.DELIVERED,
        reason=reasons.delivered(lines=len(delivery.lines), left_out=delivery.left_out),
        ended_at=now,
        line_count=len(delivery.lines),
        left_out=delivery.left_out,
        size_bytes=len(msgspec.json.encode(delivery.lines)),
        keep_until=now + timedelta(days=KEEP_DAYS),
    )
    if delivered:
        insert_all(
            [
                DeviceLogLine(
                    log=log,
                    at=datetime.fromtimestamp(line.at, UTC),
                    level=line.level,
                    source=line.source,
                    text=line.text,
                )
                for line in delivery.lines
            ]
        )


def _log_of(device: Device, request: str) -> DeviceLog:
    key = key_of(request, UnknownLog(log=request))
    log = DeviceLog.objects.filter(pk=key, device=device).first()
    if log is None:
        raise UnknownLog(log=request)
    return log
