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
"""Runs that a worker may take where nobody holds them."""
GAVE_UP = Reason("simulation_runs.gave_up", f"the worker died {MAX_ATTEMPTS} times while it did this")
LOOKS = 5
"""Times that a worker looks for a run which another does not take before it."""


def take_run(lease: uuid.UUID, now: datetime) -> SimulationRun | None:
    """The run that waits longest, leased to this worker; None: none waits, or others are quicker."""
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
    """Record how far it is, and how many seconds it expects to take still."""
    if _held(run_id, lease).update(progress=min(1.0, share), left_s=left_s):
        notify_consoles(APP)


@transaction.atomic
def succeed(run: SimulationRun, lease: uuid.UUID, found: FleetRunResult, now: datetime) -> bool:
    """End the run with what it found; False if this worker's lease was lost."""
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
    """Have the run wait until what it `lack`s may be there again, unless it was cancelled. No worker has failed."""
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
    """End the run on somebody's request, with what it has done so far; False if it has ended.

    Who performs it holds it until its child has ended: asked for again, it has no two.
    """
    return CANCELLING.take_from_any(run, State.CANCELLED, reason=reason, finished_at=now, left_s=None)


def let_go(run_id: uuid.UUID, lease: uuid.UUID) -> None:
    """Let others take a run whose child has ended; nothing happens where the run is none of this worker's."""
    SimulationRun.objects.filter(pk=run_id, lease_token=lease).exclude(state=State.RUNNING).update(lease_until=None)


def give_up(now: datetime) -> int:
    """End the runs whose workers died too often; how many."""
    hopeless = SimulationRun.objects.filter(lapsed(now), attempts__gte=MAX_ATTEMPTS, state=State.RUNNING)
    ended = hopeless.update(state=State.FAILED, **reason_columns(GAVE_UP), **_end(now))
    if ended:
        notify_consoles(APP)
    return ended


def _end(now: datetime) -> dict[str, object]:
    return {"finished_at": now, "lease_until": None, "left_s": None}


def _held(run_id: uuid.UUID, lease: uuid.UUID) -> QuerySet[SimulationRun]:
    return SimulationRun.objects.filter(pk=run_id, state=State.RUNNING, lease_token=lease)
