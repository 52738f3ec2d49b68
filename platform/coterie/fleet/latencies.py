"""Latencies that devices report: the newest of each kind of work and condition."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

import msgspec

from coterie.fleet.models import Device, DeviceLatency
from coterie_wire.latency import Latency

_KEY = ("device", "work", "form", "charging")
_REPLACED = ("version", "hottest_c", "durations", "p50_s", "p90_s", "p99_s", "at")


def record_latencies(reported: Iterable[tuple[Device, Iterable[Latency]]], *, now: datetime) -> None:
    """Store what devices report in place of what they reported before, in one statement."""
    rows = [row for device, latencies in reported for row in _rows(device, latencies, now)]
    if rows:
        rows.sort(key=lambda row: (str(row.device_id), row.work, row.form, row.charging))  # so that none deadlock
        DeviceLatency.objects.bulk_create(rows, update_conflicts=True, unique_fields=_KEY, update_fields=_REPLACED)


def _rows(device: Device, latencies: Iterable[Latency], now: datetime) -> Iterator[DeviceLatency]:
    """The rows to store, each condition once; reports of no valid version, or without a duration, are left out."""
    latest: dict[tuple[str, str, str], DeviceLatency] = {}
    for latency in latencies:
        durations = latency.durations
        quantiles = [found for share in (0.5, 0.9, 0.99) if (found := durations.quantile_s(share)) is not None]
        version = _version(latency.version)
        if version is None or not quantiles:
            continue
        p50_s, p90_s, p99_s = quantiles
        latest[latency.work, latency.form, latency.charging] = DeviceLatency(
            device=device,
            work=latency.work,
            form=latency.form,
            charging=latency.charging,
            version=version,
            hottest_c=latency.hottest_c,
            durations=msgspec.to_builtins(durations),
            p50_s=p50_s,
            p90_s=p90_s,
            p99_s=p99_s,
            at=now,
        )
    yield from latest.values()


def _version(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None
