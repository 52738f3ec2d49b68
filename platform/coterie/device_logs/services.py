"""Operators' decisions about devices' logs: request one, or cancel the request."""

from datetime import datetime, timedelta

from coterie.audit.recording import audited
from coterie.core.durable import reason_columns
from coterie.core.events import notify_consoles, wake_device
from coterie.device_logs import reasons
from coterie.device_logs.errors import AlreadyAsked, CannotSend, LogHasEnded
from coterie.device_logs.models import DeviceLog
from coterie.device_logs.selectors import why_no_log
from coterie.device_logs.transitions import STEPS, State
from coterie.fleet.models import Device

WAIT = timedelta(days=7)
"""How long the device and its owner have to answer."""


@audited("device_logs.ask_for_log")
def request_log(*, device: Device, hours: int, why: str, now: datetime) -> DeviceLog:
    """Ask a device for its log of the last `hours`; its owner decides, and reads `why`.

    Raises CannotSend or AlreadyAsked.
    """
    held = Device.objects.select_for_update(no_key=True).get(pk=device.pk)  # of two who ask at once, one is refused
    cannot = why_no_log(held)
    if cannot is not None:
        raise CannotSend(device=held.name, why=cannot.sentence)
    open_one = DeviceLog.objects.filter(device=held, state__in=DeviceLog.OPEN).first()
    if open_one is not None:
        raise AlreadyAsked(device=held.name, log=str(open_one.pk))
    log = DeviceLog.objects.create(
        device=held, hours=hours, why=why, created_at=now, due_at=now + WAIT, **reason_columns(reasons.WAITS)
    )
    notify_consoles("device_logs")
    wake_device(str(held.pk))
    return log


@audited("device_logs.cancel_log", subject="log")
def cancel_log(*, log: DeviceLog, now: datetime) -> None:
    """Cancel the request; lines that arrive later are refused. Raises HasEnded."""
    if not STEPS.take_from_any(log, State.CANCELLED, reason=reasons.STOPPED, ended_at=now):
        raise LogHasEnded(log=str(log.pk), state=log.get_state_display().lower())
    wake_device(str(log.device_id))
