"""The log of identities: each device enters its key once, and every device reads all of it."""

from datetime import datetime

from django.db import IntegrityError, transaction

from coterie.fleet.models import Device
from coterie.secure_sums.errors import OtherIdentity
from coterie.secure_sums.models import Identity
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_wire.secure_sum import MOST_MEMBERS, LogEntries, LogEntry, ReadLog

ATTEMPTS = 10
"""Attempts to enter a key when others enter theirs at the same moment."""


def read_log(*, device: Device, message: ReadLog, now: datetime) -> LogEntries:
    """Enter the device's key, if it has none, and answer with the entries after those that it has.

    Raises OtherIdentity where it has another.
    """
    _enter(device, message.identity, now)
    rows = Identity.objects.filter(position__gt=message.known)[:MOST_MEMBERS]
    return LogEntries(tuple(LogEntry(str(row.device), bytes(row.key)) for row in rows), log_length())


def log_length() -> int:
    """The number of entries."""
    last = Identity.objects.order_by("-position").values_list("position", flat=True).first()
    return 0 if last is None else last


def log_head(length: int) -> bytes:
    """The head of the log after `length` entries."""
    return bytes(Identity.objects.get(position=length).head) if length else EMPTY


def check_identity(device: Device, key: bytes) -> None:
    """Raises OtherIdentity unless `key` is the device's key in the log."""
    entry = Identity.objects.filter(device=device.pk).first()
    if entry is None or bytes(entry.key) != key:
        raise OtherIdentity(device=device.name)


def _enter(device: Device, key: bytes, now: datetime) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        if Identity.objects.filter(device=device.pk).exists():
            check_identity(device, key)
            return
        length = log_length()
        head = next_head(log_head(length), str(device.pk), key)
        try:
            with transaction.atomic():
                Identity.objects.create(position=length + 1, device=device.pk, key=key, head=head, since=now)
        except IntegrityError:  # another device has taken the position
            if attempt == ATTEMPTS:
                raise
