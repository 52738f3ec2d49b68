"""What owners have taken back of what they had agreed to: kept as words, so that a query finds who still takes part."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from coterie.fleet.models import Device
from coterie_learning.consent import FEDERATION

SEPARATOR = " "
_MARK = "declines:"


def words_of_declined(parts: Collection[str]) -> list[str]:
    """As `Device.lacks` keeps them beside the kinds that the device lacks."""
    return [_MARK + part for part in parts]


def declined_by(device: Device) -> tuple[str, ...]:
    """What the device's owner has taken back: ``federation:NAME``, or what a plan may have leave it."""
    return tuple(word.removeprefix(_MARK) for word in device.lacks.split(SEPARATOR) if word.startswith(_MARK))


def without_declining(devices: QuerySet[Device], federation: str, asked: Collection[str]) -> QuerySet[Device]:
    """Those of `devices` whose owners have taken back neither the federation nor anything that its plan asks."""
    declining = Q()
    for part in (FEDERATION + federation, *asked):
        declining |= Q(lacks__contains=f"{SEPARATOR}{_MARK}{part}{SEPARATOR}")
    return devices.filter(Q(lacks="") | ~declining)
