"""Makes a forecast for each round as it opens, and compares it with what happened."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Sum

from coterie.federations.selectors import members, ready_members
from coterie.merging.models import Update
from coterie.rounds.models import Assignment, Round
from coterie.rounds.reasons import CLOSED
from coterie.twin.errors import NoHistory, NotReplayed
from coterie.twin.models import Forecast
from coterie.twin.replay import Past, check_replayed, forecast
from coterie.twin.selectors import LONGEST, MOST_DEVICES, sizes_of, trace_of

FRESH = timedelta(minutes=5)
"""Rounds that ended longer ago get no forecast any more."""


def look(*, now: datetime) -> None:
    """Forecast rounds that have opened, and compare forecasts whose rounds take no more updates."""
    begun = Round.objects.filter(state__in=[*Round.ACTIVE[1:]], forecast=None, carries_on=False)
    just_ended = Round.objects.filter(finished_at__gt=now - FRESH, opened_at__isnull=False, tidied_at=None)
    for round_ in (*begun, *just_ended.filter(forecast=None, carries_on=False)):
        forecast_round(round_=round_, now=now)
    for one in Forecast.objects.filter(compared_at=None).select_related("round"):
        compare(one=one, now=now)


@transaction.atomic
def forecast_round(*, round_: Round, now: datetime) -> Forecast | None:
    """From parts that had ended before it opened; None: too few had, or the plan is not replayed."""
    opened_at, federation = round_.opened_at, round_.federation
    if opened_at is None or Forecast.objects.filter(round=round_).exists():
        return None
    plan = round_.parsed_plan()
    try:
        check_replayed(plan)
        trace = trace_of(federation, since=opened_at - LONGEST, until=opened_at, spans=False)
        past, sizes = Past.of(trace), sizes_of(federation, plan)
    except (NoHistory, NotReplayed):
        return None
    order = members(federation).order_by("enrolled_at", "pk").values_list("pk", flat=True)
    places = {pk: place for place, pk in enumerate(order[:MOST_DEVICES])}
    ready = set(ready_members(federation, now=now).order_by().values_list("pk", flat=True))
    ready |= set(round_.assignments.order_by().values_list("device", flat=True))
    here = [places[pk] for pk in ready if pk in places]
    found = forecast(plan, past, here, sizes, number=round_.number, seed=round_.seed)
    return Forecast.objects.create(
        round=round_,
        made_at=now,
        history=len(trace.parts),
        duration_low_s=found.duration_s.low,
        duration_s=found.duration_s.middle,
        duration_high_s=found.duration_s.high,
        lost_low=found.lost.low,
        lost=found.lost.middle,
        lost_high=found.lost.high,
        up_bytes_low=found.up_bytes.low,
        up_bytes=found.up_bytes.middle,
        up_bytes_high=found.up_bytes.high,
    )


def compare(*, one: Forecast, now: datetime) -> bool:
    """Record what happened, once the round takes no more updates; whether it did."""
    round_ = one.round
    ended = (Round.State.MERGING, Round.State.PUBLISHED, Round.State.ABANDONED)
    if round_.closed_at is None or round_.opened_at is None or round_.state not in ended:
        return False
    gone = Assignment.objects.filter(
        round=round_,
        state__in=[Assignment.State.DROPPED, Assignment.State.REJECTED, Assignment.State.RELEASED],
    ).exclude(reason_code=CLOSED.code)
    sent = Update.objects.filter(assignment__taken_by=round_).aggregate(size_bytes=Sum("size_bytes"))
    return bool(
        Forecast.objects.filter(pk=one.pk, compared_at=None).update(
            compared_at=now,
            happened_duration_s=(round_.closed_at - round_.opened_at).total_seconds(),
            happened_lost=gone.count(),
            happened_up_bytes=sent["size_bytes"] or 0,
        )
    )
