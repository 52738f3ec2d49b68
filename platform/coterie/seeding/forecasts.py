"""What rounds were expected to take, and plans that were tried: one that then ran, and one that failed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from statistics import median

import msgspec

from coterie.cloud.simulation_job import DRAWS, CannotSimulate, ExpectedRound, Range, SimulationResult
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import SimulationOptions
from coterie.federations.models import Federation
from coterie.registry.models import Dataset
from coterie.rounds.models import Round
from coterie.twin.models import Forecast
from coterie.twin.selectors import Happened, happened_in
from coterie.twin.shipped import SUBSTITUTE
from coterie_learning.plan import Document, stored_plan

FORECAST = 24
"""Of the latest rounds so many were forecast."""
TRIED = 20
"""Rounds of a plan that was tried, of which a few are still to come."""
SINCE = 14
State = TrainingJob.State


def forecast_rounds(federation: Federation, *, random: Random) -> None:
    """Its latest rounds, and two plans."""
    ended = federation.rounds.filter(opened_at__isnull=False, closed_at__isnull=False).order_by("-number")
    held = list(ended.exclude(state__in=Round.ACTIVE).select_related("merge")[:FORECAST])[::-1]
    if len(held) < FORECAST:
        return
    happened = happened_in(held)
    Forecast.objects.bulk_create(_forecast(round_, one, random) for round_, one in zip(held, happened, strict=True))
    _try_plans(federation, happened, random)


def _forecast(round_: Round, happened: Happened, random: Random) -> Forecast:
    duration, lost, sent = (
        _around(value, spread, random)
        for value, spread in ((happened.duration_s, 0.12), (happened.lost, 0.4), (happened.up_bytes, 0.05))
    )
    return Forecast(
        round=round_,
        made_at=happened.opened_at,
        history=400,
        duration_low_s=duration.low,
        duration_s=duration.middle,
        duration_high_s=duration.high,
        lost_low=lost.low,
        lost=lost.middle,
        lost_high=lost.high,
        up_bytes_low=sent.low,
        up_bytes=sent.middle,
        up_bytes_high=sent.high,
        compared_at=happened.opened_at + timedelta(seconds=happened.duration_s),
        happened_duration_s=happened.duration_s,
        happened_lost=happened.lost,
        happened_up_bytes=happened.up_bytes,
    )


def _around(value: float, spread: float, random: Random) -> Range:
    """A forecast of what became `value`: mostly about right."""
    middle = max(0.0, value * random.gauss(1, 0.7 * spread))
    return Range((1 - 1.3 * spread) * middle, middle, (1 + 1.3 * spread) * middle)


def _try_plans(federation: Federation, happened: Sequence[Happened], random: Random) -> None:
    dataset = Dataset.objects.filter(name__startswith=federation.pair.slug).first() or Dataset.objects.first()
    after, then = happened[-SINCE - 1], happened[-SINCE:]
    plan = federation.plan
    found = _simulated(stored_plan(plan).pace.updates_wanted(), then, random)
    ran = _job(federation, dataset, plan, State.SUCCEEDED, after.opened_at, after.number)
    figures = msgspec.to_builtins(found.figures())
    TrainingJob.objects.filter(pk=ran.pk).update(found=msgspec.to_builtins(found), **figures)
    longer = {**plan, "local": {**plan["local"], "epochs": 9}}
    _job(federation, dataset, longer, State.FAILED, after.opened_at - timedelta(hours=2), after.number)


def _job(
    federation: Federation, dataset: Dataset | None, plan: Document, state: State, at: datetime, after: int
) -> TrainingJob:
    options = SimulationOptions(plan, 120, after, split="dirichlet:0.5", profile=SUBSTITUTE, rounds=TRIED)
    problem = CannotSimulate(detail="the model takes x float32 [64], the samples are x float32 [8].")
    has_failed = state == State.FAILED
    return TrainingJob.objects.create(
        kind=TrainingJob.Kind.SIMULATION,
        pair=federation.pair,
        federation=federation,
        dataset=dataset,
        options=msgspec.to_builtins(options),
        state=state,
        found=None if has_failed else {},
        progress=1.0,
        reason_code=problem.code if has_failed else "",
        reason_sentence=str(problem) if has_failed else "",
        asked_by="operator",
        created_at=at,
        started_at=at + timedelta(seconds=2),
        finished_at=at + timedelta(minutes=4),
    )


def _simulated(wanted: int, then: Sequence[Happened], random: Random) -> SimulationResult:
    """What became of it, with some error."""
    known = [one.accuracy for one in then if one.accuracy is not None] or [0.8]
    ends_s = median(one.duration_s for one in then)
    rounds = []
    for place in range(TRIED):
        middle = known[min(place, len(known) - 1)] + random.gauss(0.004, 0.008)
        rounds.append(
            ExpectedRound(place + 1, DRAWS, (place + 1) * (ends_s + 60), Range(middle - 0.02, middle, middle + 0.018))
        )
    sent = median(one.up_bytes for one in then)
    return SimulationResult(
        rounds=tuple(rounds),
        duration_s=Range(0.7 * ends_s, 1.05 * ends_s, 1.4 * ends_s),
        lost=Range(0.0, 2.0, 5.0),
        up_bytes=Range(0.9 * sent, sent, 1.1 * sent),
        merged_share=0.97,
        accuracy=rounds[-1].accuracy,
        begins_with=known[0],
        bytes_per_device=Range(310_000.0, 352_000.0, 390_000.0),
        joules_per_device=Range(11.0, 13.4, 16.0),
        participants=Range(70.0, 84.0, 96.0),
        simulated_s=rounds[-1].ended_s,
        devices=6 * wanted,
        samples=14_400,
        held_out=360,
        draws=DRAWS,
        durations="simulated",
        executor_reason="",
        device_accuracy_median=_moved(rounds[-1].accuracy, 0.008),
        device_accuracy_worst_decile=_moved(rounds[-1].accuracy, -0.14),
    )


def _moved(accuracy: Range, by: float) -> Range:
    return Range(accuracy.low + by, accuracy.middle + by, accuracy.high + by)
