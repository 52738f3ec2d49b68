"""Sums up the latencies that devices report, day by day."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Max, QuerySet

from coterie.fleet.models import Device, DeviceLatency
from coterie.registry.models import ModelPair, ModelVersion, Role, Variant
from coterie.speeds.bands import WORKS
from coterie.speeds.classes import bands_of
from coterie.speeds.models import SpeedDay
from coterie_wire.latency import BUCKETS, Histogram
from coterie_wire.structs import from_values

EVERY = timedelta(hours=1)
FORMS = ("float32", *Variant.Name.values)
"""Known forms of a version: reports of other forms are not stored."""
AT_ONCE = 2000
"""Rows that are read into memory together."""

Key = tuple[str, int, str, str, str]
"""By which work, band, work, form and charging."""


@dataclass
class _Sum:
    """The sum of devices' reports."""

    devices: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    hottest_c: float | None = None

    def add(self, durations: Histogram, hottest_c: float | None) -> None:
        self.devices += 1
        for bucket, count in enumerate(durations.counts):
            self.counts[bucket] += count
        self.hottest_c = max((known for known in (self.hottest_c, hottest_c) if known is not None), default=None)


def sum_up(*, now: datetime) -> None:
    """Update the sums of today, at most once an hour, after completing those of yesterday."""
    today, yesterday = now.date(), now.date() - timedelta(days=1)
    for pair in ModelPair.objects.annotate(taken_at=Max("speed_days__taken_at")):
        if pair.taken_at is not None and pair.taken_at.date() == yesterday:
            store_day(pair=pair, day=yesterday, now=now)
        elif pair.taken_at is not None and now - pair.taken_at < EVERY:
            continue
        store_day(pair=pair, day=today, now=now)


def store_day(*, pair: ModelPair, day: date, now: datetime) -> None:
    """Replace the sums of `day` by those of the latest reports of devices that have reported since it began."""
    sums = _sums(_figures(pair), since=datetime.combine(day, time(), UTC))
    if not sums:
        return
    rows = [
        SpeedDay(
            pair=pair,
            day=day,
            by=by,
            band=band,
            work=work,
            form=form,
            charging=charging,
            devices=found.devices,
            durations=msgspec.to_builtins(Histogram.of(found.counts)),
            hottest_c=found.hottest_c,
            taken_at=now,
        )
        for (by, band, work, form, charging), found in sums.items()
    ]
    with transaction.atomic():  # begun when all is read: a large fleet's figures take seconds, and nobody could write
        ModelPair.objects.select_for_update(of=("self",), no_key=True).get(
            pk=pair.pk
        )  # so that of two workers one waits
        SpeedDay.objects.filter(pair=pair, day=day).delete()
        SpeedDay.objects.bulk_create(rows)


def _figures(pair: ModelPair) -> QuerySet[DeviceLatency]:
    versions = ModelVersion.objects.filter(pair=pair, role=Role.DEVICE).values("pk")
    return DeviceLatency.objects.filter(version__in=versions, device__state=Device.State.ENROLLED, form__in=FORMS)


def _sums(figures: QuerySet[DeviceLatency], *, since: datetime) -> Mapping[Key, _Sum]:
    reported = figures.filter(at__gte=since)
    if not reported.exists():
        return {}
    whole = figures.filter(form="float32").order_by()
    bands = {work: bands_of(whole.filter(work=work).values_list("device_id", "p50_s")) for work in WORKS}
    sums: dict[Key, _Sum] = {}
    for device, work, form, charging, durations, hottest_c in _read(reported):
        for by in WORKS:
            if device in bands[by]:
                own = sums.setdefault((by, bands[by][device], work, form, charging), _Sum())
                own.add(durations, hottest_c)
    return sums


def _read(reported: QuerySet[DeviceLatency]) -> Iterator[tuple[UUID, str, str, str, Histogram, float | None]]:
    columns = ("device_id", "work", "form", "charging", "durations", "hottest_c")
    rows = reported.order_by().values_list(*columns).iterator(AT_ONCE)
    for device, work, form, charging, durations, hottest_c in rows:
        yield device, work, form, charging, from_values(durations, Histogram), hottest_c
