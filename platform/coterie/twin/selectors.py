"""A fleet's past, read from its check-ins and its rounds; and how good forecasts were."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db.models import Q, QuerySet

from coterie.federations.models import Federation
from coterie.federations.selectors import members
from coterie.fleet.models import Observation
from coterie.fleet.observing import RETENTION
from coterie.rounds.expected_traffic import expected_traffic
from coterie.rounds.models import Assignment, RoundEvent
from coterie.rounds.reasons import CLOSED
from coterie.twin.calibration import LATEST, Calibration, Judged, calibrated
from coterie.twin.errors import NotReplayed
from coterie.twin.models import Forecast
from coterie.twin.replay import Sizes
from coterie.twin.trace import Ending, Part, Span, Trace
from coterie_learning.plan import Plan

MOST_DEVICES = 2_000
"""Members that a trace tells of, at most."""
MOST_PARTS = 20_000
"""The latest, at most."""
LONGEST = RETENTION
"""Check-ins are kept no longer."""
Figure = Literal["duration_s", "lost", "up_bytes"]
FIGURES: Mapping[Figure, tuple[str, str, str, str]] = {
    "duration_s": ("duration_low_s", "duration_s", "duration_high_s", "happened_duration_s"),
    "lost": ("lost_low", "lost", "lost_high", "happened_lost"),
    "up_bytes": ("up_bytes_low", "up_bytes", "up_bytes_high", "happened_up_bytes"),
}


def trace_of(federation: Federation, *, since: datetime, until: datetime, spans: bool = True) -> Trace:
    """What the federation's members did between two moments, and nothing that was known only later."""
    found = members(federation).order_by("enrolled_at", "pk").values_list("pk", "present_until")
    places = {pk: place for place, (pk, _) in enumerate(found[:MOST_DEVICES])}
    present = {pk: present_until or since for pk, present_until in found[:MOST_DEVICES]}
    return Trace(
        begins_at=since.astimezone(UTC).isoformat(),
        lasts_s=max(1.0, (until - since).total_seconds()),
        devices=max(1, len(places)),
        members=max(1, members(federation).count()),
        batch_size=federation.pair.model_spec().batch_size,
        spans=list(_spans(places, present, since, until)) if spans else [],
        parts=list(_parts(federation, places, since, until)),
    )


def sizes_of(federation: Federation, plan: Plan) -> Sizes:
    """What travels under `plan`. Raises NotReplayed where nothing does."""
    traffic = expected_traffic(plan, federation.pair.model_spec())
    if traffic is None:
        raise NotReplayed(reason="holds no rounds")
    return Sizes(traffic.update_bytes, traffic.version_bytes)


def _spans(
    places: Mapping[UUID, int], present: Mapping[UUID, datetime], since: datetime, until: datetime
) -> Iterator[Span]:
    """From one report to the next; after the last, while the device counts as present."""
    rows = Observation.objects.filter(device__in=places, at__lt=until).order_by("device", "at", "pk")
    reports: dict[UUID, list[tuple[datetime, bool]]] = defaultdict(list)
    for device, at, blocked_by in rows.values_list("device", "at", "blocked_by").iterator():
        reports[device].append((at, not blocked_by))
    for device, told in reports.items():
        ends = [at for at, _ in told[1:]] + [max(told[-1][0], min(until, present[device]))]
        for (begins, is_ready), end in zip(told, ends, strict=True):
            if is_ready and end > since and end > begins:
                begun, ended = (max(0.0, (one - since).total_seconds()) for one in (begins, end))
                yield Span(places[device], begun, ended)


def _parts(federation: Federation, places: Mapping[UUID, int], since: datetime, until: datetime) -> Iterator[Part]:
    """Those that began and ended between the two moments, oldest first."""
    parts: QuerySet[Assignment] = Assignment.objects.filter(
        round__federation=federation, round__carries_on=False, offered_at__gte=since, changed_at__lt=until
    ).exclude(state__in=[*Assignment.LIVE, Assignment.State.JOINED])
    latest = list(parts.select_related("update").order_by("-offered_at", "pk")[:MOST_PARTS])
    uploads = _upload_began(latest)
    for part in reversed(latest):
        place = places.get(part.device_id)
        if place is None:
            continue
        ending, at = _ended(part)
        update = part.update if ending == "delivered" else None
        lasted_s = max(0.0, (at - part.offered_at).total_seconds())
        asked_s = (part.offered_at - since).total_seconds()
        if update is None:
            yield Part(place, asked_s, ending, lasted_s)
            continue
        began = uploads.get((part.round_id, part.device_id))
        train_s = min(update.train_s, lasted_s)
        upload_s = 0.0 if began is None else max(0.0, (at - began).total_seconds())
        yield Part(
            place,
            asked_s,
            ending,
            lasted_s,
            train_s,
            min(upload_s, lasted_s - train_s),
            update.steps_done,
            update.samples,
            update.size_bytes,
        )


def _ended(part: Assignment) -> tuple[Ending, datetime]:
    if part.state == Assignment.State.DELIVERED:
        return "delivered", part.changed_at if part.update is None else part.update.received_at
    if part.state == Assignment.State.RELEASED and part.reason_code == CLOSED.code:
        return "late", part.changed_at
    return "lost", part.changed_at


def _upload_began(parts: Sequence[Assignment]) -> Mapping[tuple[int, UUID], datetime]:
    rounds = {part.round_id for part in parts}
    events = RoundEvent.objects.filter(round__in=rounds, kind=RoundEvent.Kind.UPLOADING).order_by("-at")
    return {
        (round_, device): at
        for round_, device, at in events.values_list("round", "device", "at").iterator()
        if device is not None
    }


def forecasts_of(federation: Federation) -> QuerySet[Forecast]:
    """The newest first."""
    return Forecast.objects.filter(round__federation=federation).select_related("round").order_by("-round__number")


def calibration_of(federation: Federation) -> Mapping[Figure, Calibration]:
    """By figure, over the latest rounds."""
    compared = list(forecasts_of(federation).filter(~Q(compared_at=None))[:LATEST])[::-1]
    return {
        figure: calibrated([Judged(*(getattr(one, name) for name in names)) for one in compared])
        for figure, names in FIGURES.items()
    }


def since_of(until: datetime, days: float) -> datetime:
    """So many days before, or as many as are kept."""
    return until - min(LONGEST, timedelta(days=days))
