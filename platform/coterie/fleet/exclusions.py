"""The signed list of devices that others must not answer any more (ADR 138)."""

from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

import msgspec
from django.db.models import Q

from coterie.core.identity import signing_key
from coterie.fleet.models import Device
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.discovery import LIFE_S
from coterie_wire.exclusion import MAX_EXCLUDED, Excluded
from coterie_wire.version import PROTOCOL

LIFE = timedelta(seconds=LIFE_S)
"""How long an excluded device may still be answered by devices that have not received the list."""
OLDEST = timedelta(hours=1)
"""The age at which a device's list is replaced even without a new exclusion: a device may have been released."""

SETTLED_S = 60.0
"""Seconds after an exclusion: a list written within them may not contain it, as another process may have written it."""


class Exclusions:
    """The exclusions at `now`; read once, however many devices they are sent to."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def newer_than(self, known_at: float) -> SignedManifest | None:
        """The list for a device whose own is of `known_at`, in seconds since 1970; None: that one is new enough."""
        is_old = known_at < (self._now - OLDEST).timestamp()
        return self.signed if is_old or known_at < self._newest_at + SETTLED_S else None

    @cached_property
    def signed(self) -> SignedManifest:
        """A signed `Excluded`, written now."""
        devices = tuple(str(device) for device, _ in self._found)
        excluded = Excluded(protocol=PROTOCOL, devices=devices, written_at=self._now.timestamp())
        return sign_content(msgspec.json.encode(excluded), signing_key())

    @cached_property
    def _newest_at(self) -> float:
        return max((at.timestamp() for _, at in self._found), default=0.0)

    @cached_property
    def _found(self) -> list[tuple[UUID, datetime]]:
        """Excluded devices with tickets that may be valid, and since when: at most `MAX_EXCLUDED`, the latest first."""
        gone = Q(state__in=(Device.State.REVOKED, Device.State.LEFT), ended_at__gt=self._now - LIFE)
        held = Q(state=Device.State.ENROLLED, quarantine__gt="", paused_at__isnull=False)
        found: list[tuple[UUID, datetime]] = []
        for condition, since in ((gone, "ended_at"), (held, "paused_at")):
            devices = Device.objects.filter(condition).order_by(f"-{since}")
            found += devices.values_list("pk", since)[:MAX_EXCLUDED]
        return found[:MAX_EXCLUDED]
