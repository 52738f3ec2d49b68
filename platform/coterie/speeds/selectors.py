"""How long train steps and predictions took on devices of a pair, by class and day."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.db.models import QuerySet

from coterie.fleet.models import Device, DeviceLatency
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.speeds.bands import WORKS, BandRange, Quantiles, divide, nearest, quantiles_of
from coterie.speeds.classes import Speed, SpeedClass, classify
from coterie.speeds.models import SpeedDay
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_values

LATEST = 10_000
"""Most figures of devices that are read for the current classes: the latest reports."""


@dataclass(frozen=True)
class DaySpeed:
    """How long one kind of work took in a class on a day."""

    day: date
    place: int
    """The index of the class, of those of the last day; 0 is the quickest."""
    spans: Sequence[BandRange]
    by: str
    """The work whose median divides them."""
    work: str
    form: str
    charging: str
    devices: int
    quantiles: Quantiles
    hottest_c: float | None


def classes_of(pair: ModelPair) -> Sequence[SpeedClass]:
    """The classes of its devices now, the quickest first."""
    versions = ModelVersion.objects.filter(pair=pair, role=Role.DEVICE).values("pk")
    rows = DeviceLatency.objects.filter(version__in=versions, device__state=Device.State.ENROLLED)
    newest = rows.select_related("device").order_by("-at", "-pk")[:LATEST]
    return classify([_speed(row) for row in newest])


def history_of(days: QuerySet[SpeedDay], asked: Mapping[str, str]) -> Sequence[DaySpeed]:
    """The speeds of `days`, all of one pair, where work, form and condition are as `asked`; the newest first.

    Classes are where devices divide on the last of these days. What was told before counts to the class whose medians
    are nearest, so that a class that slows down as a whole stays the same one.
    """
    by, spans = _divided(days)
    sums: dict[tuple[date, int, str, str, str], list[SpeedDay]] = {}
    for row in days.filter(by=by, **asked):
        key = (row.day, nearest(spans, row.band), row.work, row.form, row.charging)
        sums.setdefault(key, []).append(row)
    ordered = sorted(sums, key=lambda key: (-key[0].toordinal(), *key[1:]))
    return [_day_speed(key, sums[key], by, spans) for key in ordered]


def _divided(days: QuerySet[SpeedDay]) -> tuple[str, Sequence[BandRange]]:
    """By which work most devices can be compared on the last day, and the classes that they divide into there."""
    last = days.order_by("-day").values("day")[:1]
    found: dict[str, Counter[int]] = {work: Counter() for work in WORKS}
    for by, work, band, devices in (
        days.filter(day=last, form="float32").order_by().values_list("by", "work", "band", "devices")
    ):
        if by == work:
            found[by][band] += devices
    by = max(WORKS, key=lambda work: found[work].total())
    return by, divide(found[by])


def _day_speed(
    key: tuple[date, int, str, str, str], rows: Iterable[SpeedDay], by: str, spans: Sequence[BandRange]
) -> DaySpeed:
    day, place, work, form, charging = key
    durations, devices, heat = Histogram(), 0, []
    for row in rows:
        durations += from_values(row.durations, Histogram)
        devices += row.devices
        heat += [] if row.hottest_c is None else [row.hottest_c]
    quantiles = quantiles_of(durations)
    return DaySpeed(day, place, spans, by, work, form, charging, devices, quantiles, max(heat, default=None))


def _speed(row: DeviceLatency) -> Speed:
    capabilities = row.device.capabilities
    cores = capabilities.get("cores", 1)
    machine = f"{capabilities.get('machine', 'unknown')}, {cores} core{'s' * (cores != 1)}"
    device: UUID = row.device_id
    return Speed(device, machine, row.work, row.form, row.charging, row.p50_s, from_values(row.durations, Histogram))
