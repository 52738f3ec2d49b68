"""How a device would do as a supernode: what it is, and what the rounds before have measured of it."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from datetime import datetime
from statistics import median
from typing import NamedTuple
from uuid import UUID

from coterie.fleet.models import Device
from coterie.merging.models import Update
from coterie.rounds.models import Round, RoundEvent
from coterie_wire.messages import Capabilities
from coterie_wire.structs import from_values

LATEST = 20
"""Rounds of the federation before this one that are looked at, so that a standing stays the same during a round."""
MEASURABLE_BYTES = 64 << 10
"""A smaller update takes about as long as any answer, and tells nothing of the line."""
UNKNOWN_MBIT_S = 1.0
"""What a line counts for that nobody has measured."""


class Suitability(NamedTuple):
    """How suited one device is to be a supernode."""

    cores: int
    memory_gib: float
    mbit_s: float | None
    """What its line brought to the platform: the median of its latest updates; None: none was large enough to tell."""
    stayed: float
    """Share of the rounds which asked it that it was never missing from, with one more for a device that is new."""

    @property
    def score(self) -> float:
        """Geometric mean, so that no strength makes up for lacking another."""
        line = UNKNOWN_MBIT_S if self.mbit_s is None else self.mbit_s
        return math.pow(self.cores * self.memory_gib * line * self.stayed, 0.25)


class _Heard(NamedTuple):
    """What rounds tell of one device."""

    asked: Set[int]
    missed: Set[int]
    """Rounds from which it was missing."""
    sends_since: Mapping[int, datetime]
    """By round."""


def standings(round_: Round, devices: Collection[Device]) -> Mapping[UUID, Suitability]:
    """That of each of `devices` when `round_` opened."""
    before = Round.objects.filter(federation=round_.federation_id, number__lt=round_.number).order_by("-number")
    rounds = list(before.values_list("pk", flat=True)[:LATEST])
    heard = _heard(rounds, [device.pk for device in devices])
    rates = _rates(rounds, heard)
    return {device.pk: _standing(device, heard.get(device.pk), rates.get(device.pk, ())) for device in devices}


def _standing(device: Device, heard: _Heard | None, rates: Collection[float]) -> Suitability:
    told = from_values(device.capabilities, Capabilities)
    asked, missed = (0, 0) if heard is None else (len(heard.asked), len(heard.missed & heard.asked))
    return Suitability(
        cores=told.cores,
        memory_gib=told.memory_bytes / 2**30,
        mbit_s=median(rates) if rates else None,
        stayed=(asked - missed + 1) / (asked + 1),
    )


def _heard(rounds: Collection[int], devices: Collection[UUID]) -> Mapping[UUID, _Heard]:
    kinds = (RoundEvent.Kind.ASKED, RoundEvent.Kind.DROPPED, RoundEvent.Kind.UPLOADING)
    events = RoundEvent.objects.filter(round__in=rounds, device__in=devices, kind__in=kinds).order_by("at")
    found: defaultdict[UUID, dict[str, dict[int, datetime]]] = defaultdict(lambda: {kind: {} for kind in kinds})
    for device, kind, key, at in events.values_list("device", "kind", "round", "at"):
        assert device is not None, "these are of devices"
        found[device][kind][key] = at
    return {
        device: _Heard(told["asked"].keys(), told["dropped"].keys(), told["uploading"])
        for device, told in found.items()
    }


def _rates(rounds: Collection[int], heard: Mapping[UUID, _Heard]) -> Mapping[UUID, list[float]]:
    """Megabits a second of each update that came by itself."""
    updates = Update.objects.filter(
        cohort__in=rounds, device__in=heard.keys(), partial=None, size_bytes__gte=MEASURABLE_BYTES
    )
    found: defaultdict[UUID, list[float]] = defaultdict(list)
    for device, cohort, size_bytes, received_at in updates.values_list("device", "cohort", "size_bytes", "received_at"):
        began = heard[device].sends_since.get(cohort)
        seconds = 0.0 if began is None else (received_at - began).total_seconds()
        if seconds > 0:
            found[device].append(8e-6 * size_bytes / seconds)
    return found
