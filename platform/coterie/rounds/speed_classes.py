"""Classes of devices by how quick they are, as their own figures divide them."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from coterie_wire.latency import Histogram

GAP_OCTAVES = 0.5
"""Neighbours in the order of their times that differ by more are of two classes: one takes 1.4 times as long."""


class Speed(NamedTuple):
    """How long one kind of work takes on one device."""

    device: UUID
    machine: str
    """Processor, system and cores."""
    work: str
    form: str
    charging: str
    p50_s: float
    durations: Histogram


class ClassSpeed(NamedTuple):
    """How long one kind of work takes in a class."""

    work: str
    form: str
    charging: str
    devices: int
    p50_s: float
    p90_s: float
    p99_s: float


class SpeedClass(NamedTuple):
    """Devices that are about as quick as one another."""

    devices: int
    machines: Sequence[str]
    """The most frequent first."""
    speeds: Sequence[ClassSpeed]


def classify(speeds: Sequence[Speed]) -> Sequence[SpeedClass]:
    """The classes, the quickest first.

    Devices are put in order by the median of their quickest float32 work of the kind that most of them have measured,
    and divided at gaps (single linkage on the logarithm). Devices that have not measured it are in none.
    """
    times = _times(speeds)
    classes: list[set[UUID]] = []
    last = -math.inf
    for device, octave in sorted(times.items(), key=lambda item: (item[1], str(item[0]))):
        if octave - last > GAP_OCTAVES:
            classes.append(set())
        classes[-1].add(device)
        last = octave
    return [_summed_up(members, speeds) for members in classes]


def _times(speeds: Iterable[Speed]) -> Mapping[UUID, float]:
    """By device, the logarithm to base two of its time."""
    by_work: defaultdict[str, dict[UUID, float]] = defaultdict(dict)
    for speed in speeds:
        if speed.form == "float32":
            known = by_work[speed.work]
            known[speed.device] = min(known.get(speed.device, math.inf), math.log2(speed.p50_s))
    return max((by_work[work] for work in sorted(by_work)), key=len, default={})


def _summed_up(members: set[UUID], speeds: Iterable[Speed]) -> SpeedClass:
    own = [speed for speed in speeds if speed.device in members]
    machines = Counter({speed.device: speed.machine for speed in own}.values())
    groups: defaultdict[tuple[str, str, str], list[Speed]] = defaultdict(list)
    for speed in own:
        groups[speed.work, speed.form, speed.charging].append(speed)
    found = []
    for key, group in sorted(groups.items()):
        total = sum((speed.durations for speed in group), start=Histogram())
        p50_s, p90_s, p99_s = (total.quantile_s(share) or 0.0 for share in (0.5, 0.9, 0.99))
        found.append(ClassSpeed(*key, len(group), p50_s, p90_s, p99_s))
    return SpeedClass(len(members), [name for name, _ in machines.most_common()], found)
