"""Consent that owners have withdrawn: stored as words, so that a query finds the devices that still take part."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from coterie.fleet.models import Device
from coterie_learning.consent import FEDERATION

SEPARATOR = " "
_MARK = "declines:"


def words_of_declined(parts: Collection[str]) -> list[str]:
    """The words in `Device.lacks` that stand for withdrawn consent, beside the kinds that the device lacks."""
    return [_MARK + part for part in parts]


def declined_by(device: Device) -> tuple[str, ...]:
    """What the device's owner declines: ``federation:NAME``, or something that a plan may have leave the device."""
    return tuple(word.removeprefix(_MARK) for word in device.lacks.split(SEPARATOR) if word.startswith(_MARK))


def without_declining(devices: QuerySet[Device], federation: str, asked: Collection[str]) -> QuerySet[Device]:
    """The devices whose owners decline neither the federation nor anything that its plan asks."""
    declining = Q()
    for part in (FEDERATION + federation, *asked):
        declining |= Q(lacks__contains=f"{SEPARATOR}{_MARK}{part}{SEPARATOR}")
    return devices.filter(Q(lacks="") | ~declining)
