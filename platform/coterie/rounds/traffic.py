"""What left devices: updates to rounds, portions to other devices, and profiles of their data; never samples."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Literal
from uuid import UUID

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDay

from coterie.fleet.models import Device
from coterie.merging.models import Update
from coterie.transfer.models import ReportedDay, Transfer

Kind = Literal["update", "portion", "profile"]
KINDS: tuple[Kind, ...] = ("update", "portion", "profile")
LATEST = 500
"""Departures of one kind that are listed."""


@dataclass(frozen=True)
class Departure:
    """Something that left a device."""

    kind: Kind
    at: datetime
    """Of profiles, when the last of that day was reported."""
    size_bytes: int
    count: int
    """How many: more than one only of profiles, which are counted by the day."""
    federation: UUID
    federation_slug: str
    federation_name: str
    target: UUID | None
    """The device that a portion was for."""
    target_name: str


@dataclass
class Day:
    """What left all devices in a day, in bytes by kind."""

    day: date
    update_bytes: int = 0
    updates: int = 0
    portion_bytes: int = 0
    profile_bytes: int = 0


def departures_of(device: Device, *, since: datetime) -> list[Departure]:
    """What left the device, youngest first."""
    found = chain(_updates(device, since), _portions(device, since), _profiles(device, since))
    return sorted(found, key=lambda departure: departure.at, reverse=True)


def traffic_by_day(*, now: datetime, days: int) -> list[Day]:
    """What left all devices on each of the last days on which something did, oldest first."""
    since = now - timedelta(days=days)
    found: dict[date, Day] = {}

    def of(day: date) -> Day:
        return found.setdefault(day, Day(day))

    for day, size_bytes, count in _daily(Update.objects.filter(received_at__gte=since).order_by(), "received_at"):
        of(day).update_bytes, of(day).updates = size_bytes, count
    for day, size_bytes, _ in _daily(Transfer.objects.filter(delivered_at__gte=since).order_by(), "delivered_at"):
        of(day).portion_bytes = size_bytes
    reported = ReportedDay.objects.filter(day__gte=since.astimezone(UTC).date()).order_by()
    for row in reported.values("day").annotate(all_bytes=Sum("size_bytes")):
        of(row["day"]).profile_bytes = row["all_bytes"]
    return [found[day] for day in sorted(found)]


def _daily(rows: QuerySet[Update] | QuerySet[Transfer], moment: str) -> Iterator[tuple[date, int, int]]:
    """Each day with its bytes and rows."""
    days = rows.annotate(day=TruncDay(moment)).values("day").annotate(all_bytes=Sum("size_bytes"), count=Count("pk"))
    for row in days:
        yield row["day"].date(), row["all_bytes"], row["count"]


def _updates(device: Device, since: datetime) -> Iterator[Departure]:
    updates = Update.objects.filter(device=device, received_at__gte=since)
    for update in updates.select_related("federation")[:LATEST]:
        federation = update.federation
        yield Departure(
            "update",
            update.received_at,
            update.size_bytes,
            1,
            federation.pk,
            federation.slug,
            federation.name,
            None,
            "",
        )


def _portions(device: Device, since: datetime) -> Iterator[Departure]:
    portions = Transfer.objects.filter(helper=device, delivered_at__gte=since).order_by("-delivered_at")
    for portion in portions.select_related("request__federation", "request__device")[:LATEST]:
        assert portion.delivered_at is not None
        request = portion.request
        yield Departure(
            "portion",
            portion.delivered_at,
            portion.size_bytes,
            1,
            request.federation_id,
            request.federation.slug,
            request.federation.name,
            request.device_id,
            request.device.name,
        )


def _profiles(device: Device, since: datetime) -> Iterator[Departure]:
    reported = ReportedDay.objects.filter(device=device, latest_at__gte=since)
    for row in reported.select_related("federation")[:LATEST]:
        yield Departure(
            "profile",
            row.latest_at,
            row.size_bytes,
            row.reports,
            row.federation_id,
            row.federation.slug,
            row.federation.name,
            None,
            "",
        )
