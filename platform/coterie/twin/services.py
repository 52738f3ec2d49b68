"""Forecasts each round when it opens, compares the forecast with the outcome, and tries plans before they run."""

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import Max

from coterie.audit.recording import audited
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import SimulationOptions
from coterie.cloud_training.services import simulate_plan
from coterie.core.resting import LONGEST_S
from coterie.federations.models import Federation
from coterie.federations.selectors import members, ready_members
from coterie.federations.services import check_plan_fits
from coterie.registry.models import Blob, Dataset
from coterie.registry.services import store_file
from coterie.rounds.models import Round
from coterie.twin.errors import NoHistory, NoSamples, NotReplayed
from coterie.twin.models import Forecast
from coterie.twin.replay import Past, check_replayed, forecast
from coterie.twin.selectors import happened_in, places_of, trace_for_round, update_bytes_of, whole_trace_of
from coterie.twin.shipped import MOST_IN_SCENARIO, SUBSTITUTE
from coterie_learning.plan import Document, parse_plan, plan_document

WITHOUT_ROUNDS = 10
"""Devices of a trial where a federation has none and its plan has no rounds that determine the number."""
FRESH = timedelta(minutes=5)
"""Rounds that ended longer ago get no forecast."""


def look(*, now: datetime) -> float:
    """Forecast rounds that have opened, and compare forecasts whose rounds accept no more updates.

    Returns the seconds until the next check.
    """
    begun = Round.objects.filter(state__in=[*Round.ACTIVE[1:]], forecast=None, carries_on=False)
    just_ended = Round.objects.filter(finished_at__gt=now - FRESH, opened_at__isnull=False, tidied_at=None)
    rounds = [*begun, *just_ended.filter(forecast=None, carries_on=False)]
    forecasts = list(Forecast.objects.filter(compared_at=None).select_related("round"))
    for round_ in rounds:
        forecast_round(round_=round_, now=now)
    for one in forecasts:
        compare(one=one, now=now)
    return 0.0 if rounds or forecasts else LONGEST_S


@transaction.atomic
def forecast_round(*, round_: Round, now: datetime) -> Forecast | None:
    """Forecast a round from parts that had ended before it opened; None: too few had, or the plan is not replayed."""
    opened_at, federation = round_.opened_at, round_.federation
    if opened_at is None or Forecast.objects.filter(round=round_).exists():
        return None
    plan = round_.parsed_plan()
    try:
        check_replayed(plan)
        places = places_of(federation)
        trace = trace_for_round(federation, places, opened_at)
        past, update_bytes = Past.of(trace), update_bytes_of(federation, plan)
    except (NoHistory, NotReplayed):
        return None
    ready = set(ready_members(federation, now=now).order_by().values_list("pk", flat=True))
    ready |= set(round_.assignments.order_by().values_list("device", flat=True))
    here = [places[pk] for pk in ready if pk in places]
    found = forecast(plan, past, here, update_bytes, number=round_.number, seed=round_.seed)
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
    """Record the outcome, once the round accepts no more updates; whether it was recorded."""
    round_ = one.round
    ended = (Round.State.MERGING, Round.State.PUBLISHED, Round.State.ABANDONED)
    if round_.closed_at is None or round_.opened_at is None or round_.state not in ended:
        return False
    (happened,) = happened_in([round_])
    return bool(
        Forecast.objects.filter(pk=one.pk, compared_at=None).update(
            compared_at=now,
            happened_duration_s=happened.duration_s,
            happened_lost=happened.lost,
            happened_up_bytes=happened.up_bytes,
        )
    )


class PlanTrial(NamedTuple):
    """The data, fleet and duration of a trial of a plan."""

    dataset: Dataset | None
    scenario: str | None
    """A shipped scenario, instead of a data set."""
    split: str = "iid"
    each: int | None = None
    """Samples that each device draws; None: the data set is divided."""
    profile: str | None = None
    """A shipped fleet profile; None: the federation's own, from its history."""
    devices: int | None = None
    """None: as many as the federation has; where it has none, as a round needs, or `WITHOUT_ROUNDS`."""
    rounds: int = 20
    days: float = 14.0
    drift: str | None = None
    """The order in which samples arrive over the `days`; None: devices have all from the beginning."""
    seed: int = 0


@audited("twin.try_plan")
def try_plan(*, federation: Federation, plan: Document | None, trial: PlanTrial, now: datetime) -> TrainingJob:
    """Have a plan (None: the federation's own) tried on a simulated fleet; nothing of the federation changes.

    Where its own past is too short, a shipped profile takes its place and the job's options say why. What simulations
    of fleets refuse, the job does. Raises NoSamples, PairNotReady, DatasetDoesNotFit, NoCloudModel, AlreadySimulated,
    and what `check_plan_fits` raises.
    """
    parsed = federation.parsed_plan() if plan is None else parse_plan(plan)
    check_plan_fits(parsed, federation.pair, federation.cloud_data)
    if (trial.dataset is None) == (trial.scenario is None):
        raise NoSamples()
    profile, reason, fleet = trial.profile, "", None
    if profile is None:
        try:
            fleet = _kept_past(federation, now)
        except NoHistory as error:
            profile, reason = SUBSTITUTE, str(error)
    pace = parsed.pace
    wanted = max(pace.devices_needed(), pace.updates_wanted()) if pace.holds_rounds() else WITHOUT_ROUNDS
    devices = trial.devices or members(federation).count() or wanted
    options = SimulationOptions(
        plan=plan_document(parsed),
        devices=devices if trial.scenario is None else min(devices, MOST_IN_SCENARIO),
        after_round=federation.rounds.aggregate(last=Max("number"))["last"] or 0,
        scenario=trial.scenario,
        split=trial.split,
        each=trial.each,
        profile=profile,
        profile_reason=reason,
        rounds=trial.rounds,
        days=trial.days,
        drift=trial.drift,
        seed=trial.seed,
    )
    return simulate_plan(federation=federation, dataset=trial.dataset, fleet=fleet, options=options, now=now)


def _kept_past(federation: Federation, now: datetime) -> Blob:
    """Store the fleet's trace as a file in the registry. Raises NoHistory."""
    trace = whole_trace_of(federation, until=now)
    Past.of(trace)
    with tempfile.NamedTemporaryFile(prefix="coterie-fleet-") as file:
        file.write(msgspec.json.encode(trace))
        file.flush()
        return store_file(path=Path(file.name), now=now)
