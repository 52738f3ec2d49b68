"""Letters that devices leave for each other here, so that they meet by a direct path (ADR 106)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from coterie.core.events import wake_device
from coterie.fleet.models import Device, PathLetter
from coterie_wire.messages import Capabilities
from coterie_wire.paths import LETTER_S, MAX_LETTERS, LeaveLetter, Letter
from coterie_wire.relaying import Way
from coterie_wire.structs import from_values

LIFE = timedelta(seconds=LETTER_S)


def way_to(device: Device) -> Way | None:
    """How another device reaches it by a direct path; None: it opens none."""
    if not device.capabilities.get("paths"):
        return None
    key = from_values(device.capabilities, Capabilities).peer_key
    return None if key is None else Way(str(device.pk), key, settings.STUN or None)


@transaction.atomic
def keep_letter(*, sender: Device, receiver: Device, message: LeaveLetter, now: datetime) -> None:
    """Pass it on at the receiver's next check-in; each of its sender's newest `MAX_LETTERS` is kept for a minute."""
    PathLetter.objects.filter(left_at__lt=now - LIFE).delete()
    former = PathLetter.objects.filter(sender=sender).order_by("-left_at", "-id")
    PathLetter.objects.filter(pk__in=list(former.values_list("pk", flat=True)[MAX_LETTERS - 1 :])).delete()
    PathLetter.objects.update_or_create(
        path=message.path,
        sender=sender,
        defaults={"receiver": receiver, "content": message.letter, "left_at": now},
    )
    wake_device(str(receiver.pk))


def letters_for(devices: Sequence[Device], *, now: datetime) -> Mapping[UUID, Sequence[Letter]]:
    """By device, what others have left for it."""
    able = [device.pk for device in devices if device.capabilities.get("paths")]
    if not able:
        return {}
    found: defaultdict[UUID, list[Letter]] = defaultdict(list)
    letters = PathLetter.objects.filter(receiver__in=able, left_at__gte=now - LIFE).select_related("sender")
    for letter in letters.order_by("-left_at", "-id"):
        way = way_to(letter.sender)
        if way is not None and len(found[letter.receiver_id]) < MAX_LETTERS:
            found[letter.receiver_id].append(Letter(letter.path, way, bytes(letter.content)))
    return found
