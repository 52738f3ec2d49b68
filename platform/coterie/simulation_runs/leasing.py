"""The lease, the progress and the end of a run: each change is a compare-and-set on the run's row."""

import uuid
from datetime import datetime

import msgspec
from django.db import transaction
from django.db.models import F, Q, QuerySet

from coterie.cloud.fleet_run_job import FleetRunResult
from coterie.core.durable import MAX_SENTENCE, Steps, reason_columns
from coterie.core.events import notify_consoles
from coterie.core.lease import extend_lease, free, lapsed, take_lease
from coterie.core.postponing import is_due, pause_after, postponed, postponed_reason
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from coterie_wire.conditions import Reason

State = SimulationRun.State
APP = "simulation_runs"
CANCELLING = Steps(SimulationRun, {state: frozenset({State.CANCELLED}) for state in SimulationRun.ACTIVE}, APP)
MAX_ATTEMPTS = 3
WAITING = Q(attempts__lt=MAX_ATTEMPTS, state__in=SimulationRun.ACTIVE)
"""Runs that a worker may take: those without a valid lease."""
GAVE_UP = Reason("simulation_runs.gave_up", f"the worker died {MAX_ATTEMPTS} times while it did this")
LOOKS = 5
"""Attempts of a worker to take a run before another does."""


def take_run(lease: uuid.UUID, now: datetime) -> SimulationRun | None:
    """The longest waiting run, leased to this worker; None: none is waiting, or others were faster."""
    for _ in range(LOOKS):
        waiting = SimulationRun.objects.filter(WAITING, free(now), is_due(now)).order_by("created_at", "pk")
        first = waiting.values_list("pk", flat=True).first()
        if first is None:
            return None
        begun = {"state": State.RUNNING, "progress": 0.0, "started_at": now, **reason_columns(None)}
        if take_lease(SimulationRun.objects.filter(WAITING, pk=first), lease=lease, now=now, **begun):
            notify_consoles(APP)
            return SimulationRun.objects.select_related("fleet__file").get(pk=first)
    return None


def hold_run(run_id: uuid.UUID, lease: uuid.UUID, now: datetime) -> bool:
    """Renew the lease; False if the run was cancelled or removed, or another worker has taken it."""
    return extend_lease(SimulationRun.objects.filter(pk=run_id, state=State.RUNNING), lease=lease, now=now)


def record_progress(run_id: uuid.UUID, lease: uuid.UUID, share: float, left_s: float | None) -> None:
    """Record its progress and the expected seconds left."""
    if _held(run_id, lease).update(progress=min(1.0, share), left_s=left_s):
        notify_consoles(APP)


@transaction.atomic
def succeed(run: SimulationRun, lease: uuid.UUID, found: FleetRunResult, now: datetime) -> bool:
    """End the run with its outcome; False if this worker's lease was lost."""
    figures = msgspec.to_builtins(found.figures)
    ended = _held(run.pk, lease).update(
        state=State.SUCCEEDED, progress=1.0, outcome=found.outcome, **figures, **_end(now)
    )
    SimulatedFleet.objects.filter(pk=run.fleet_id).update(used_at=now)
    notify_consoles(APP)
    return ended == 1


def fail(run: SimulationRun, lease: uuid.UUID, reason: Reason, now: datetime) -> bool:
    """End the run as failed; False if this worker's lease was lost."""
    told = Reason(reason.code, reason.sentence[:MAX_SENTENCE])
    ended = _held(run.pk, lease).update(state=State.FAILED, **reason_columns(told), **_end(now))
    if ended:
        notify_consoles(APP)
    return ended == 1


def postpone(run: SimulationRun, lease: uuid.UUID, lack: Reason, now: datetime) -> None:
    """Postpone the run until the resources that it `lack`s may be available, unless it was cancelled; not a failure."""
    pause = pause_after(run.postponements)
    told = postponed_reason(lack, pause)
    put_off = _held(run.pk, lease).update(
        state=State.QUEUED,
        attempts=F("attempts") - 1,
        lease_until=None,
        left_s=None,
        **reason_columns(told),
        **postponed(pause, now),
    )
    if put_off:
        notify_consoles(APP)


def cancel(run: SimulationRun, reason: Reason, now: datetime) -> bool:
    """Cancel the run on request and store its progress; False if it has ended.

    Its worker keeps the lease until its child process has ended, so that a new request does not start a second one.
    """
    return CANCELLING.take_from_any(run, State.CANCELLED, reason=reason, finished_at=now, left_s=None)


def let_go(run_id: uuid.UUID, lease: uuid.UUID) -> None:
    """Release a run whose child process has ended; no effect unless it is leased to this worker."""
    SimulationRun.objects.filter(pk=run_id, lease_token=lease).exclude(state=State.RUNNING).update(lease_until=None)


def give_up(now: datetime) -> int:
    """End the runs whose workers died too often; returns their number."""
    hopeless = SimulationRun.objects.filter(lapsed(now), attempts__gte=MAX_ATTEMPTS, state=State.RUNNING)
    ended = hopeless.update(state=State.FAILED, **reason_columns(GAVE_UP), **_end(now))
    if ended:
        notify_consoles(APP)
    return ended


def _end(now: datetime) -> dict[str, object]:
    return {"finished_at": now, "lease_until": None, "left_s": None}


def _held(run_id: uuid.UUID, lease: uuid.UUID) -> QuerySet[SimulationRun]:
    return SimulationRun.objects.filter(pk=run_id, state=State.RUNNING, lease_token=lease)
