"""Signals between devices that exchange something now, with which they establish a direct connection."""

from datetime import datetime
from uuid import UUID

from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.models import Device
from coterie.fleet.signalling import store_signal
from coterie.rounds.meeting import are_in_a_meeting
from coterie.rounds.routing import are_on_a_route
from coterie.transfer.selectors import are_in_transfer
from coterie_wire.paths import SendSignal

_TOGETHER = (are_in_transfer, are_on_a_route, are_in_a_meeting)
"""Each says whether two devices exchange something now."""


class NoBusiness(CoterieError):
    """Fields: device. A signal for a device that its sender has nothing to do with."""

    code = "rounds.no_business"
    kind = ErrorKind.FORBIDDEN
    sentence = "This device has nothing to bring to device {device} now, nor to fetch from it."


def send_signal(*, device: Device, message: SendSignal, now: datetime) -> None:
    """Forward the signal to its receiver. Raises NoBusiness."""
    try:
        receiver = Device.objects.filter(pk=UUID(message.to), state=Device.State.ENROLLED).first()
    except ValueError:
        receiver = None
    if receiver is None or not any(together(device, receiver) for together in _TOGETHER):
        raise NoBusiness(device=message.to)
    store_signal(sender=device, receiver=receiver, message=message, now=now)
