"""Signalling between devices that establish a direct connection: the platform forwards it (ADR 106)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from coterie.core.events import wake_device
from coterie.fleet.models import Device, PathSignal
from coterie_wire.messages import Capabilities
from coterie_wire.paths import MAX_SIGNALS, SIGNAL_S, SendSignal, Signal
from coterie_wire.relaying import DirectPeer
from coterie_wire.structs import from_values

LIFE = timedelta(seconds=SIGNAL_S)


def direct_peer_of(device: Device) -> DirectPeer | None:
    """How another device connects to it by a direct path; None: it opens none."""
    if not device.capabilities.get("paths"):
        return None
    key = from_values(device.capabilities, Capabilities).peer_key
    return None if key is None else DirectPeer(str(device.pk), key, settings.STUN or None)


@transaction.atomic
def store_signal(*, sender: Device, receiver: Device, message: SendSignal, now: datetime) -> None:
    """Store a signal for the receiver's next check-in; the sender's newest `MAX_SIGNALS` are kept for a minute."""
    PathSignal.objects.filter(sent_at__lt=now - LIFE).delete()
    former = PathSignal.objects.filter(sender=sender).order_by("-sent_at", "-id")
    PathSignal.objects.filter(pk__in=list(former.values_list("pk", flat=True)[MAX_SIGNALS - 1 :])).delete()
    PathSignal.objects.update_or_create(
        path=message.path,
        sender=sender,
        defaults={"receiver": receiver, "content": message.sealed, "sent_at": now},
    )
    wake_device(str(receiver.pk))


def signals_for(devices: Sequence[Device], *, now: datetime) -> Mapping[UUID, Sequence[Signal]]:
    """By device, the signals that others have sent it."""
    able = [device.pk for device in devices if device.capabilities.get("paths")]
    if not able:
        return {}
    found: defaultdict[UUID, list[Signal]] = defaultdict(list)
    signals = PathSignal.objects.filter(receiver__in=able, sent_at__gte=now - LIFE).select_related("sender")
    for signal in signals.order_by("-sent_at", "-id"):
        way = direct_peer_of(signal.sender)
        if way is not None and len(found[signal.receiver_id]) < MAX_SIGNALS:
            found[signal.receiver_id].append(Signal(signal.path, way, bytes(signal.content)))
    return found
