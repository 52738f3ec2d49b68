"""Devices whose updates merges leave out repeatedly are put into quarantine, until an operator releases them."""

from datetime import datetime

from django.conf import settings

from coterie.fleet.models import Device
from coterie.fleet.services import quarantine_device
from coterie.merging.models import Merge, Update
from coterie.merging.reasons import DAMAGED

LATEST = 10
"""The number of a device's latest updates that are checked."""
NO_OFFENCE = ("", DAMAGED.code, "update.too_stale")
"""Faults for which the device is not to blame: none, an update damaged on the platform's disk, or one too late."""


def quarantine_offenders(*, merge: Merge, now: datetime) -> None:
    """Put devices of `merge` into quarantine if more of their latest updates were left out than the settings allow.

    The faults of this merge's updates are recorded already.
    """
    if not settings.QUARANTINE_AFTER:
        return
    left_out = merge.updates.exclude(fault_code__in=NO_OFFENCE)
    for device in Device.objects.filter(updates__in=left_out, quarantine="").distinct().order_by("pk"):
        latest = Update.objects.filter(device=device, merge__isnull=False).order_by("-received_at")
        if device.trusted_since is not None:
            latest = latest.filter(received_at__gt=device.trusted_since)
        codes = list(latest.values_list("fault_code", "fault_sentence")[:LATEST])
        faults = [sentence for code, sentence in codes if code not in NO_OFFENCE]
        if len(faults) >= settings.QUARANTINE_AFTER:
            why = f"merges left out {len(faults)} of its latest {LATEST} updates, the last since {faults[0]}"
            quarantine_device(device=device, why=why, now=now)
