"""A fleet's history, read from its check-ins and rounds; its forecasts, and their calibration."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet, Sum

from coterie.cloud.simulation_job import Range, SimulationResult
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import SimulationOptions
from coterie.federations.models import Federation
from coterie.federations.selectors import members
from coterie.fleet.models import Device, Observation
from coterie.fleet.observing import RETENTION
from coterie.merging.models import Update
from coterie.rounds.expected_traffic import expected_traffic
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.reasons import CLOSED
from coterie.twin.calibration import LATEST, Calibration, ComparedForecast, calibrated
from coterie.twin.errors import NotReplayed
from coterie.twin.models import Forecast
from coterie.twin.trace import Ending, ReadyInterval, Trace, TracedPart
from coterie_learning.plan import Plan
from coterie_wire.structs import from_values

MOST_DEVICES = 2_000
"""Most members in a trace."""
MOST_PARTS = 20_000
"""Most parts, the latest."""
PARTS_EACH = 20
"""Mean number of parts of a device for a round's forecast; older ones would hardly change it."""
FEW_PARTS = 1_000
"""Least number of parts for it in a small fleet."""
ROUNDS_AT_ONCE = 50
"""Rounds whose parts are read together, newest first, until there are enough."""
MOST_ROUNDS = 1_000
"""Most rounds that forecasts of plans are compared with."""
LONGEST = RETENTION
"""Days for which check-ins are stored."""
Figure = Literal["duration_s", "lost", "up_bytes"]
FIGURES: Mapping[Figure, tuple[str, str, str, str]] = {
    "duration_s": ("duration_low_s", "duration_s", "duration_high_s", "happened_duration_s"),
    "lost": ("lost_low", "lost", "lost_high", "happened_lost"),
    "up_bytes": ("up_bytes_low", "up_bytes", "up_bytes_high", "happened_up_bytes"),
}


def trace_of(federation: Federation, *, since: datetime, until: datetime) -> Trace:
    """The history of the federation's members between two times, without data that became known later."""
    found = list(_members(federation).values_list("pk", "present_until")[:MOST_DEVICES])
    places = {pk: place for place, (pk, _) in enumerate(found)}
    present = {pk: present_until or since for pk, present_until in found}
    spans = list(_spans(places, present, since, until))
    return _trace(federation, places, since, until, spans, MOST_PARTS)


def trace_for_round(federation: Federation, places: Mapping[UUID, int], opened_at: datetime) -> Trace:
    """The latest parts of the members, as `places_of` has them, before a round opened, for its forecast."""
    most = min(MOST_PARTS, max(FEW_PARTS, PARTS_EACH * len(places)))
    return _trace(federation, places, opened_at - LONGEST, opened_at, (), most)


def places_of(federation: Federation) -> Mapping[UUID, int]:
    """The places of its members in its traces."""
    return {pk: place for place, pk in enumerate(_members(federation).values_list("pk", flat=True)[:MOST_DEVICES])}


def _members(federation: Federation) -> QuerySet[Device]:
    return members(federation).order_by("enrolled_at", "pk")


def _trace(
    federation: Federation,
    places: Mapping[UUID, int],
    since: datetime,
    until: datetime,
    spans: Sequence[ReadyInterval],
    most_parts: int,
) -> Trace:
    return Trace(
        begins_at=since.astimezone(UTC).isoformat(),
        lasts_s=max(1.0, (until - since).total_seconds()),
        devices=max(1, len(places)),
        members=max(1, members(federation).count()),
        batch_size=federation.pair.model_spec().batch_size,
        spans=spans,
        parts=list(_parts(federation, places, since, until, most_parts)),
    )


def whole_trace_of(federation: Federation, *, until: datetime) -> Trace:
    """The trace of all stored data, from the first report on."""
    since = until - LONGEST
    reports = Observation.objects.filter(device__in=members(federation), at__gte=since, at__lt=until)
    asked = Assignment.objects.filter(round__federation=federation, offered_at__gte=since, offered_at__lt=until)
    first = [reports.aggregate(at=Min("at"))["at"], asked.aggregate(at=Min("offered_at"))["at"]]
    return trace_of(federation, since=min((at for at in first if at is not None), default=since), until=until)


def update_bytes_of(federation: Federation, plan: Plan) -> int:
    """Usual size of an update under `plan`. Raises NotReplayed where devices send none."""
    traffic = expected_traffic(plan, federation.pair.model_spec())
    if traffic is None:
        raise NotReplayed(reason="holds no rounds")
    return traffic.update_bytes


def _spans(
    places: Mapping[UUID, int], present: Mapping[UUID, datetime], since: datetime, until: datetime
) -> Iterator[ReadyInterval]:
    """Intervals from one report to the next; after the last, while the device counts as present."""
    rows = Observation.objects.filter(device__in=places, at__lt=until).order_by("device", "at", "pk")
    reports: dict[UUID, list[tuple[datetime, bool]]] = defaultdict(list)
    for device, at, blocked_by in rows.values_list("device", "at", "blocked_by").iterator():
        reports[device].append((at, not blocked_by))
    for device, told in reports.items():
        ends = [at for at, _ in told[1:]] + [max(told[-1][0], min(until, present[device]))]
        for (begins, is_ready), end in zip(told, ends, strict=True):
            if is_ready and end > since and end > begins:
                begun, ended = (max(0.0, (one - since).total_seconds()) for one in (begins, end))
                yield ReadyInterval(places[device], begun, ended)


class _Row(NamedTuple):
    """The columns of an assignment and its update that a part needs."""

    pk: UUID
    round_id: int
    device: UUID
    offered_at: datetime
    changed_at: datetime
    state: str
    reason_code: str
    received_at: datetime | None
    """None: it has no update."""
    train_s: float
    steps_done: int
    samples: int
    size_bytes: int


_COLUMNS = (
    "pk",
    "round_id",
    "device_id",
    "offered_at",
    "changed_at",
    "state",
    "reason_code",
    *(f"update__{name}" for name in ("received_at", "train_s", "steps_done", "samples", "size_bytes")),
)


def _parts(
    federation: Federation, places: Mapping[UUID, int], since: datetime, until: datetime, most: int
) -> Iterator[TracedPart]:
    """The latest parts that began and ended between the two times, oldest first."""
    latest = _latest_rows(federation, since, until, most)
    uploads = _upload_began({row.round_id for row in latest})
    for row in reversed(latest):
        place = places.get(row.device)
        if place is None:
            continue
        ending, at = _ended(row)
        lasted_s = max(0.0, (at - row.offered_at).total_seconds())
        asked_s = (row.offered_at - since).total_seconds()
        if ending != "delivered" or row.received_at is None:
            yield TracedPart(place, asked_s, ending, lasted_s)
            continue
        began = uploads.get((row.round_id, row.device))
        train_s = min(row.train_s, lasted_s)
        upload_s = 0.0 if began is None else max(0.0, (at - began).total_seconds())
        yield TracedPart(
            place,
            asked_s,
            ending,
            lasted_s,
            train_s,
            min(upload_s, lasted_s - train_s),
            row.steps_done,
            row.samples,
            row.size_bytes,
        )


def _latest_rows(federation: Federation, since: datetime, until: datetime, most: int) -> list[_Row]:
    """Newest first."""
    ended = Assignment.objects.filter(offered_at__gte=since, changed_at__lt=until)
    ended = ended.exclude(state__in=[*Assignment.LIVE, Assignment.State.JOINED]).order_by()
    lasted = federation.rounds.filter(carries_on=False).exclude(finished_at__lt=since).order_by("-number")
    rounds = list(lasted.values_list("pk", flat=True))
    found: list[_Row] = []
    while rounds and len(found) < most:
        newest, rounds = rounds[:ROUNDS_AT_ONCE], rounds[ROUNDS_AT_ONCE:]
        found += (_Row(*row) for row in ended.filter(round__in=newest).values_list(*_COLUMNS))
    found.sort(key=lambda row: row.pk)
    found.sort(key=lambda row: row.offered_at, reverse=True)
    return found[:most]


def _ended(row: _Row) -> tuple[Ending, datetime]:
    if row.state == Assignment.State.DELIVERED:
        return "delivered", row.received_at or row.changed_at
    if row.state == Assignment.State.RELEASED and row.reason_code == CLOSED.code:
        return "late", row.changed_at
    return "lost", row.changed_at


def _upload_began(rounds: Set[int]) -> Mapping[tuple[int, UUID], datetime]:
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
        figure: calibrated([ComparedForecast(*(getattr(one, name) for name in names)) for one in compared])
        for figure, names in FIGURES.items()
    }


class Happened(NamedTuple):
    """A round that opened and has ended."""

    number: int
    opened_at: datetime
    duration_s: float
    """From its opening to its closing."""
    lost: int
    """Devices that were asked, and gave up, fell silent, or sent what was wrong."""
    up_bytes: int
    accuracy: float | None
    """Of its version on held-out data; None: it has none, or there are no such data."""
    is_merged: bool


def happened_in(rounds: Sequence[Round]) -> list[Happened]:
    """Of `rounds`, which have opened and closed, in their order."""
    gone = Assignment.objects.filter(
        round__in=rounds,
        state__in=[Assignment.State.DROPPED, Assignment.State.REJECTED, Assignment.State.RELEASED],
    ).exclude(reason_code=CLOSED.code)
    lost = dict(gone.order_by().values("round").annotate(count=Count("pk")).values_list("round", "count"))
    updates = Update.objects.filter(assignment__taken_by__in=rounds).order_by()
    by_round = updates.values("assignment__taken_by").annotate(size_bytes=Sum("size_bytes"))
    sent = dict(by_round.values_list("assignment__taken_by", "size_bytes"))
    return [
        Happened(
            round_.number,
            round_.opened_at,
            (round_.closed_at - round_.opened_at).total_seconds(),
            lost.get(round_.pk, 0),
            sent.get(round_.pk) or 0,
            round_.metrics.get("accuracy"),
            round_.state == Round.State.PUBLISHED,
        )
        for round_ in rounds
        if round_.opened_at is not None and round_.closed_at is not None
    ]


class TriedPlan(NamedTuple):
    """A plan that was tried, and the rounds that were then held under it."""

    job: TrainingJob
    options: SimulationOptions
    expected: SimulationResult | None
    """None: it has not ended well."""
    happened: Sequence[Happened]
    """At most as many as were forecast; the first is compared with the first that was expected."""


def tried_of(federation: Federation, *, latest: int) -> list[TriedPlan]:
    """The newest first."""
    jobs = federation.simulations.select_related("pair", "dataset").order_by("-created_at", "pk")[:latest]
    return compared_of(federation, jobs)


def compared_of(federation: Federation, jobs: Iterable[TrainingJob]) -> list[TriedPlan]:
    """Simulations of the federation beside its rounds, in the order of `jobs`."""
    told = [(job, from_values(job.options, SimulationOptions)) for job in jobs]
    first = min((options.after_round for _, options in told), default=0)
    ended = federation.rounds.filter(
        number__gt=first,
        opened_at__isnull=False,
        closed_at__isnull=False,
        state__in=(Round.State.PUBLISHED, Round.State.ABANDONED),
    )
    held = list(ended.select_related("merge").order_by("number")[:MOST_ROUNDS])
    plans = {round_.number: round_.plan for round_ in held}
    happened = happened_in(held)
    return [
        TriedPlan(
            job,
            options,
            None if job.found is None else from_values(job.found, SimulationResult),
            [one for one in happened if one.number > options.after_round and plans[one.number] == options.plan][
                : options.rounds
            ],
        )
        for job, options in told
    ]


def calibration_of_plans(tried: Sequence[TriedPlan]) -> Mapping[str, Calibration]:
    """How good what was expected of plans is, by figure; a round is judged by the newest that was tried before it."""
    judged: dict[str, dict[int, ComparedForecast]] = {name: {} for name in ("accuracy", *FIGURES)}
    for _, _, expected, happened in reversed(tried):  # a newer one replaces an older one's
        if expected is None:
            continue
        for place, one in enumerate(happened):
            for figure in FIGURES:
                judged[figure][one.number] = ComparedForecast(
                    *_numbers(getattr(expected, figure)), getattr(one, figure)
                )
            if one.accuracy is not None and place < len(expected.rounds):
                judged["accuracy"][one.number] = ComparedForecast(
                    *_numbers(expected.rounds[place].accuracy), one.accuracy
                )
    return {figure: calibrated([by[number] for number in sorted(by)]) for figure, by in judged.items()}


def _numbers(expected: Range) -> tuple[float, float, float]:
    return expected.low, expected.middle, expected.high


def since_of(until: datetime, days: float) -> datetime:
    """So many days before, or as many as are kept."""
    return until - min(LONGEST, timedelta(days=days))
