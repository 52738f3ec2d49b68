"""Durations of train steps and predictions on this device, by the conditions under which they ran."""

from typing import NamedTuple

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.conditions import Answer
from coterie_wire.latency import MOST_REPORTED, Histogram, Latency, Work
from coterie_wire.structs import from_json

_REMEMBERED = 100_000
"""Number of durations; beyond it the earlier counts are halved, so that the newest weigh most."""
DAY_S = 86_400.0
"""Earlier counts are halved each day, so that a slower device is visible within days."""


class MeasuredDurations(NamedTuple):
    """Durations of one kind of work in one condition."""

    pair: str
    version: str
    work: Work
    form: str
    charging: Answer
    temperature_c: float | None
    durations: Histogram


class LatencyStore:
    """A row for each kind of work on one pair's models, by form and by whether the device was charging."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, measured: MeasuredDurations, *, now: float) -> None:
        """Add measured durations, if there are any; the figures of other pairs are deleted."""
        if not measured.durations.total:
            return
        key = (measured.work, measured.form, measured.charging)
        where = "pair = ? AND work = ? AND form = ? AND charging = ?"
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM latency WHERE pair <> ?", (measured.pair,))
            query = f"SELECT content, halved_at FROM latency WHERE {where} AND seal IS seal(content)"  # noqa: S608 - from above
            row = cursor.execute(query, (measured.pair, *key)).fetchone()
            before, halved_at = (from_json(row[0], Latency), row[1]) if row else (None, now)
            days = max(0, int((now - halved_at) // DAY_S))
            latency = _joined(before, measured, days=days)
            cursor.execute(
                "INSERT OR REPLACE INTO latency VALUES (?1, ?2, ?3, ?4, ?5, seal(?5), ?6, ?7)",
                (measured.pair, *key, msgspec.json.encode(latency), now, min(halved_at + days * DAY_S, now)),
            )

    def has(self, pair: str, work: Work, form: str, *, since: float) -> bool:
        """Whether it was measured since then, under any condition."""
        with self._database.reading() as cursor:
            query = "SELECT 1 FROM latency WHERE pair = ? AND work = ? AND form = ? AND measured_at >= ?"
            return cursor.execute(query, (pair, work, form, since)).fetchone() is not None

    def reportable(self) -> tuple[Latency, ...]:
        """The latencies as reported to the platform: histograms scaled to a fixed total, not counts."""
        query = "SELECT content FROM latency WHERE seal IS seal(content) ORDER BY work, form, charging"
        with self._database.reading() as cursor:
            rows = cursor.execute(query).fetchall()
        found = (from_json(row[0], Latency) for row in rows)
        return tuple(msgspec.structs.replace(one, durations=one.durations.scaled(MOST_REPORTED)) for one in found)


def _joined(before: Latency | None, measured: MeasuredDurations, *, days: int) -> Latency:
    durations, hottest_c = measured.durations, measured.temperature_c
    if before is not None:
        halvings = days + (before.durations.total > _REMEMBERED)
        kept = Histogram.of([count >> halvings for count in before.durations.counts])
        durations = kept + durations
        if not kept.total:
            return Latency(measured.version, measured.work, measured.form, durations, measured.charging, hottest_c)
        hottest_c = max((known for known in (before.hottest_c, hottest_c) if known is not None), default=None)
    return Latency(measured.version, measured.work, measured.form, durations, measured.charging, hottest_c)
