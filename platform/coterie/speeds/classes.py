"""Classes of devices by speed, divided at gaps between their figures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from coterie.speeds.bands import WORKS, BandRange, Quantiles, divide, nearest, quantiles_of
from coterie_wire.latency import Histogram, bucket_of


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
    quantiles: Quantiles


class SpeedClass(NamedTuple):
    """Devices of similar speed."""

    by: str
    """The work whose median they were divided by."""
    span: BandRange
    devices: int
    machines: Sequence[str]
    """The most frequent first."""
    speeds: Sequence[ClassSpeed]


def classify(speeds: Sequence[Speed]) -> Sequence[SpeedClass]:
    """The classes, the quickest first.

    Devices are put in order by the median of their quickest float32 work of the kind that most of them have measured,
    and divided at gaps. Devices that have not measured it are in none.
    """
    found = {
        work: bands_of((s.device, s.p50_s) for s in speeds if (s.work, s.form) == (work, "float32")) for work in WORKS
    }
    by = max(WORKS, key=lambda work: len(found[work]))
    bands = found[by]
    spans = divide(bands.values())
    places = {device: nearest(spans, band) for device, band in bands.items()}
    members: Sequence[list[Speed]] = [[] for _ in spans]
    for speed in speeds:
        if speed.device in places:
            members[places[speed.device]].append(speed)
    return [_summed_up(by, span, own) for span, own in zip(spans, members, strict=True)]


def bands_of(medians: Iterable[tuple[UUID, float]]) -> Mapping[UUID, int]:
    """By device, the band of its shortest median."""
    bands: dict[UUID, int] = {}
    for device, median_s in medians:
        band = bucket_of(median_s)
        bands[device] = min(bands.get(device, band), band)
    return bands


def _summed_up(by: str, span: BandRange, own: Sequence[Speed]) -> SpeedClass:
    machines = Counter({speed.device: speed.machine for speed in own}.values())
    groups: defaultdict[tuple[str, str, str], list[Speed]] = defaultdict(list)
    for speed in own:
        groups[speed.work, speed.form, speed.charging].append(speed)
    found = [
        ClassSpeed(*key, len(group), quantiles_of(sum((speed.durations for speed in group), start=Histogram())))
        for key, group in sorted(groups.items())
    ]
    devices = len({speed.device for speed in own})
    return SpeedClass(by, span, devices, [name for name, _ in machines.most_common()], found)
