"""Sums up what devices tell of how quick they are, day by day."""

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
"""Forms that there are: what a device calls otherwise is not kept."""
AT_ONCE = 2000
"""Rows that are read into memory together."""

Key = tuple[str, int, str, str, str]
"""By which work, band, work, form and charging."""


@dataclass
class _Sum:
    """What devices told, added up."""

    devices: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    hottest_c: float | None = None

    def add(self, durations: Histogram, hottest_c: float | None) -> None:
        self.devices += 1
        for bucket, count in enumerate(durations.counts):
            self.counts[bucket] += count
        self.hottest_c = max((known for known in (self.hottest_c, hottest_c) if known is not None), default=None)


def sum_up(*, now: datetime) -> None:
    """Write anew what was told today, where that was last done an hour ago, and before it end yesterday."""
    today, yesterday = now.date(), now.date() - timedelta(days=1)
    for pair in ModelPair.objects.annotate(taken_at=Max("speed_days__taken_at")):
        if pair.taken_at is not None and pair.taken_at.date() == yesterday:
            take_day(pair=pair, day=yesterday, now=now)
        elif pair.taken_at is not None and now - pair.taken_at < EVERY:
            continue
        take_day(pair=pair, day=today, now=now)


def take_day(*, pair: ModelPair, day: date, now: datetime) -> None:
    """Write what devices told last, of those that told something since `day` began, in place of what was written."""
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
    told = figures.filter(at__gte=since)
    if not told.exists():
        return {}
    whole = figures.filter(form="float32").order_by()
    bands = {work: bands_of(whole.filter(work=work).values_list("device_id", "p50_s")) for work in WORKS}
    sums: dict[Key, _Sum] = {}
    for device, work, form, charging, durations, hottest_c in _read(told):
        for by in WORKS:
            if device in bands[by]:
                own = sums.setdefault((by, bands[by][device], work, form, charging), _Sum())
                own.add(durations, hottest_c)
    return sums


def _read(told: QuerySet[DeviceLatency]) -> Iterator[tuple[UUID, str, str, str, Histogram, float | None]]:
    columns = ("device_id", "work", "form", "charging", "durations", "hottest_c")
    for device, work, form, charging, durations, hottest_c in told.order_by().values_list(*columns).iterator(AT_ONCE):
        yield device, work, form, charging, from_values(durations, Histogram), hottest_c
