"""How suitable a device is as a supernode: its hardware, and what earlier rounds measured of it."""

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
"""How many earlier rounds are read; the current one is not, so that suitability stays the same during a round."""
MEASURABLE_BYTES = 64 << 10
"""A smaller update takes about as long as any request, and says nothing about the bandwidth."""
UNKNOWN_MBIT_S = 1.0
"""The bandwidth assumed where none was measured."""


class Suitability(NamedTuple):
    """How suited one device is to be a supernode."""

    cores: int
    memory_gib: float
    mbit_s: float | None
    """Its bandwidth to the platform: the median over its latest updates; None: none was large enough to measure."""
    stayed: float
    """Share of the rounds that invited it during which it was never absent, smoothed by one more such round."""

    @property
    def score(self) -> float:
        """Geometric mean, so that one strength does not make up for lacking another."""
        line = UNKNOWN_MBIT_S if self.mbit_s is None else self.mbit_s
        return math.pow(self.cores * self.memory_gib * line * self.stayed, 0.25)


class _History(NamedTuple):
    """What earlier rounds recorded of one device."""

    asked: Set[int]
    missed: Set[int]
    """Rounds during which it was absent."""
    sends_since: Mapping[int, datetime]
    """When it began to upload, by round."""


def suitabilities(round_: Round, devices: Collection[Device]) -> Mapping[UUID, Suitability]:
    """The suitability of each of `devices` when `round_` opened."""
    before = Round.objects.filter(federation=round_.federation_id, number__lt=round_.number).order_by("-number")
    rounds = list(before.values_list("pk", flat=True)[:LATEST])
    histories = _histories(rounds, [device.pk for device in devices])
    rates = _rates(rounds, histories)
    return {device.pk: _suitability(device, histories.get(device.pk), rates.get(device.pk, ())) for device in devices}


def _suitability(device: Device, history: _History | None, rates: Collection[float]) -> Suitability:
    capabilities = from_values(device.capabilities, Capabilities)
    asked, missed = (0, 0) if history is None else (len(history.asked), len(history.missed & history.asked))
    return Suitability(
        cores=capabilities.cores,
        memory_gib=capabilities.memory_bytes / 2**30,
        mbit_s=median(rates) if rates else None,
        stayed=(asked - missed + 1) / (asked + 1),
    )


def _histories(rounds: Collection[int], devices: Collection[UUID]) -> Mapping[UUID, _History]:
    kinds = (RoundEvent.Kind.ASKED, RoundEvent.Kind.DROPPED, RoundEvent.Kind.UPLOADING)
    events = RoundEvent.objects.filter(round__in=rounds, device__in=devices, kind__in=kinds).order_by("at")
    found: defaultdict[UUID, dict[str, dict[int, datetime]]] = defaultdict(lambda: {kind: {} for kind in kinds})
    for device, kind, key, at in events.values_list("device", "kind", "round", "at"):
        assert device is not None, "these are of devices"
        found[device][kind][key] = at
    return {
        device: _History(by_kind["asked"].keys(), by_kind["dropped"].keys(), by_kind["uploading"])
        for device, by_kind in found.items()
    }


def _rates(rounds: Collection[int], histories: Mapping[UUID, _History]) -> Mapping[UUID, list[float]]:
    """Megabits per second of each update that came directly, by device."""
    updates = Update.objects.filter(
        cohort__in=rounds, device__in=histories.keys(), partial=None, size_bytes__gte=MEASURABLE_BYTES
    )
    found: defaultdict[UUID, list[float]] = defaultdict(list)
    for device, cohort, size_bytes, received_at in updates.values_list("device", "cohort", "size_bytes", "received_at"):
        began = histories[device].sends_since.get(cohort)
        seconds = 0.0 if began is None else (received_at - began).total_seconds()
        if seconds > 0:
            found[device].append(8e-6 * size_bytes / seconds)
    return found
