"""Performs runs in child processes, each under a lease."""

import logging
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings

from coterie.child.errors import Cancelled
from coterie.child.job import Progress
from coterie.child.run import run_child
from coterie.cloud.fleet_run_job import JOB, LIMITS, FleetRunArguments, RunRequest
from coterie.cloud.simulation_job import LEFT_S, agent_code
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.core.postponing import lack_of
from coterie.core.scratch import scratch_directory
from coterie.registry.verifying import sound_path
from coterie.simulation_runs.keeping import checkpoint_directory, delete_checkpoint
from coterie.simulation_runs.leasing import fail, hold_run, let_go, postpone, record_progress, succeed, take_run
from coterie.simulation_runs.models import SimulationRun
from coterie_wire.structs import from_values

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
PROGRESS_EVERY = timedelta(seconds=1)
PLACES = threading.BoundedSemaphore(max(1, settings.SIMULATIONS_AT_ONCE))
"""Threads of this process for runs: rounds of real devices need the others."""


def perform(*, clock: Clock) -> int:
    """Perform waiting runs until there are none; returns their number, 0 where this process is busy."""
    performed = 0
    if not settings.SIMULATIONS_AT_ONCE or not PLACES.acquire(blocking=False):
        return performed
    try:
        lease = uuid.uuid4()
        while (run := take_run(lease, clock())) is not None:
            _perform(run, lease, clock)
            performed += 1
            lease = uuid.uuid4()
    finally:
        PLACES.release()
    return performed


def _perform(run: SimulationRun, lease: uuid.UUID, clock: Clock) -> None:
    told_at = clock()

    def record(progress: Progress) -> None:
        nonlocal told_at
        now = clock()
        if progress.total and now - told_at >= PROGRESS_EVERY:
            told_at = now
            record_progress(run.pk, lease, progress.done / progress.total, progress.values.get(LEFT_S))

    with Heartbeat(lambda: hold_run(run.pk, lease, clock())) as heartbeat:
        try:
            with scratch_directory("run") as directory:
                arguments = FleetRunArguments(
                    fleet=str(sound_path(run.fleet.file_id, directory, now=clock())),
                    wanted=from_values(run.wanted, RunRequest),
                    keep=str(checkpoint_directory(run.pk)),
                    code=agent_code(),
                )
                found = run_child(JOB, arguments, limits=LIMITS, on_progress=record, cancel=heartbeat.lost)
            if succeed(run, lease, found, clock()):
                delete_checkpoint(run.pk)
        except Cancelled:
            logger.info("%s was cancelled or removed, or is another worker's", run)
        except Exception as error:
            if (lack := lack_of(error)) is not None:
                logger.warning("%s waits: %s", run, lack.sentence)
                postpone(run, lease, lack, clock())
            elif isinstance(error, CoterieError):
                logger.warning("%s failed: %s", run, error)
                fail(run, lease, error.reason(), clock())
            else:
                raise
        finally:
            let_go(run.pk, lease)
