"""Queries on alliances."""

from django.db.models import QuerySet

from coterie.alliances.errors import UnknownAlliance
from coterie.alliances.models import Alliance, Party
from coterie.core.row_keys import key_of
from coterie.fleet.models import Device


def active_alliances() -> QuerySet[Alliance]:
    """Alliances that wait or work, oldest first."""
    return Alliance.objects.filter(state__in=Alliance.ACTIVE).order_by("created_at", "id")


def versions_of_alliances() -> QuerySet[Party]:
    """The parties whose versions are in use."""
    return Party.objects.filter(alliance__state__in=Alliance.ACTIVE)


def party_of(device: Device, alliance: str) -> Party:
    """The device's party in the alliance. Raises UnknownAlliance."""
    key = key_of(alliance, UnknownAlliance(alliance=alliance))
    party = Party.objects.filter(alliance=key, device=device).first()
    if party is None:
        raise UnknownAlliance(alliance=alliance)
    return party
