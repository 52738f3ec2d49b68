"""Changes to simulation runs: request, cancel, remove, find overdue ones, and delete old ones."""

import hashlib
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec
from django.db import transaction
from django.db.models import F, Q

from coterie.audit.recording import audited, check_permitted
from coterie.cloud.fleet_run_job import DESCRIPTION, FleetDescription, RunRequest
from coterie.core.acting import current_actor
from coterie.core.events import notify_consoles
from coterie.core.lease import lapsed
from coterie.core.postponing import is_due
from coterie.core.resting import LONGEST_S
from coterie.core.why import cancellation
from coterie.evaluation.datasets import MAX_BYTES
from coterie.registry.models import Blob
from coterie.registry.services import store_file
from coterie.simulation_runs.errors import FleetTooLarge, FleetUntold, RunHasEnded
from coterie.simulation_runs.jobs import PERFORM
from coterie.simulation_runs.keeping import delete_all_but
from coterie.simulation_runs.leasing import APP, WAITING, cancel, give_up
from coterie.simulation_runs.models import MAX_NAME, SimulatedFleet, SimulationRun
from coterie_learning.plan import parse_plan, plan_document
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json
from coterie_wire.tensor_files import open_source, open_tensors

HINTS = 64
"""Most messages for waiting runs; a worker that has performed one looks for the next by itself."""
HINTED_AGAIN = timedelta(seconds=60)
"""Time after which workers are notified again of a run that was not taken: a message may have been lost."""
KEPT = timedelta(days=14)
"""How long an unused fleet is stored with its outcomes."""


def keep_fleet(*, path: Path, now: datetime) -> SimulatedFleet:
    """Store the file of a fleet; equal files are one fleet.

    Raises FleetTooLarge, FleetUntold or WireError ``tensors.malformed``.
    """
    check_permitted("simulation_runs.keep_fleet")
    size_bytes = path.stat().st_size
    if size_bytes > MAX_BYTES:
        raise FleetTooLarge(size_bytes=size_bytes, limit_bytes=MAX_BYTES)
    told = _described(path)
    blob = store_file(path=path, now=now)  # no transaction waits for the disk
    return _keep_fleet(blob=blob, told=told, now=now)


@audited("simulation_runs.keep_fleet")
def _keep_fleet(*, blob: Blob, told: FleetDescription, now: datetime) -> SimulatedFleet:
    pair, data = (name[:MAX_NAME] for name in told.names)
    known = {"pair_name": pair, "data_name": data, "devices": told.devices}
    fleet, _ = SimulatedFleet.objects.get_or_create(file=blob, defaults={"created_at": now, "used_at": now, **known})
    return fleet


def _described(path: Path) -> FleetDescription:
    with open_source(path) as source:
        file = open_tensors(source)  # it has the header of a tensor file
        try:
            size = math.prod(file.header.specs[DESCRIPTION].shape)
            return from_json(file.read(DESCRIPTION, 0, size).tobytes(), FleetDescription)
        except (KeyError, *UNREADABLE) as error:
            raise FleetUntold(detail=str(error)) from error


@audited("simulation_runs.ask_for_runs", subject="fleet")
def ask_for_runs(*, fleet: SimulatedFleet, wanted: Sequence[RunRequest], now: datetime) -> list[SimulationRun]:
    """Request runs: returns existing and new ones, in the order of `wanted`.

    Failed runs are retried, cancelled ones are resumed. Raises WireError ``plan.invalid``.
    """
    written = [msgspec.structs.replace(one, plan=plan_document(parse_plan(one.plan))) for one in wanted]
    keys = [key_of(one) for one in written]
    runs = fleet.runs.select_for_update(no_key=True)
    SimulationRun.objects.bulk_create(
        [
            SimulationRun(
                fleet=fleet,
                key=key,
                wanted=msgspec.to_builtins(one),
                asked_by=current_actor().name,
                created_at=now,
                hinted_at=now,
            )
            for key, one in dict(zip(keys, written, strict=True)).items()
        ],
        ignore_conflicts=True,
    )
    again = {
        "attempts": 0,
        "reason_code": "",
        "reason_sentence": "",
        "finished_at": None,
        "hinted_at": now,
        "started_at": None,
        "progress": 0.0,
        "postponed_until": None,
        "postponements": 0,
    }
    ended = (SimulationRun.State.FAILED, SimulationRun.State.CANCELLED)
    runs.filter(key__in=keys, state__in=ended).update(state=SimulationRun.State.QUEUED, **again)
    fleet.used_at = now
    fleet.save(update_fields=["used_at"])
    found = {run.key: run for run in fleet.runs.filter(key__in=keys)}
    notify_consoles(APP)
    _hint(sum(run.state == SimulationRun.State.QUEUED for run in found.values()))
    return [found[key] for key in keys]


def key_of(wanted: RunRequest) -> str:
    """The key of a run, equal for equal runs by the same release."""
    return hashlib.sha256(msgspec.json.encode((version("coterie"), wanted), order="sorted")).hexdigest()


@audited("simulation_runs.cancel_run", subject="run")
def cancel_run(*, run: SimulationRun, why: str = "", now: datetime) -> None:
    """Cancel a run; its child process ends within seconds. Its progress is stored, so that a new request resumes it.

    `why` is part of its reason. Raises RunHasEnded.
    """
    if not cancel(run, cancellation("simulation_runs.cancelled", why), now):
        raise RunHasEnded(run=str(run.pk), state=run.state)


@audited("simulation_runs.remove_fleet", subject="fleet")
def remove_fleet(*, fleet: SimulatedFleet) -> None:
    """Delete a fleet, its runs and their outcomes; running ones end within seconds."""
    fleet.delete()
    notify_consoles(APP)


def sweep(*, now: datetime) -> float:
    """Notify workers of runs without a worker, end those whose workers died too often, and delete old fleets.

    Returns the seconds until the next check.
    """
    give_up(now)
    pause_over = Q(postponed_until__gt=F("hinted_at"))
    unheard = Q(state=SimulationRun.State.QUEUED) & (
        Q(hinted_at__lt=now - HINTED_AGAIN) | Q(hinted_at__gt=now) | pause_over
    )
    with transaction.atomic():
        due = SimulationRun.objects.filter(WAITING, is_due(now), lapsed(now) | unheard).order_by("created_at", "pk")[
            :HINTS
        ]
        _hint(SimulationRun.objects.filter(pk__in=[run.pk for run in due]).update(hinted_at=now))
    SimulatedFleet.objects.filter(used_at__lt=now - KEPT).exclude(runs__state__in=SimulationRun.ACTIVE).delete()
    goes_on = (*SimulationRun.ACTIVE, SimulationRun.State.CANCELLED)
    delete_all_but(SimulationRun.objects.filter(state__in=goes_on).values_list("pk", flat=True))
    return 0.0 if SimulationRun.objects.filter(state__in=SimulationRun.ACTIVE).exists() else LONGEST_S


def _hint(count: int) -> None:
    for _ in range(min(count, HINTS)):
        PERFORM.send()
