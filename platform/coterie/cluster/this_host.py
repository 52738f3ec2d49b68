"""What this machine tells of itself, over and over, while a Celery worker runs on it."""

import logging
import os
import threading
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import psutil
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from coterie.child.run import run_child
from coterie.cloud import gpus_job
from coterie.cluster.services import register_host
from coterie.core.errors import CoterieError
from coterie.core.lease import HEARTBEAT_S

logger = logging.getLogger(__name__)

FEWEST_PLACES = 2
"""A pair can be tried while another one trains, whatever the machine."""
GPU_NODES = ("nvidia[0-9]*", "kfd")
"""In /dev, of the drivers of GPUs on which PyTorch computes: CUDA's and ROCm's."""


class Facts(NamedTuple):
    """A machine."""

    cores: int
    memory_bytes: int


def look() -> Facts:
    """What this process may use."""
    return Facts(len(os.sched_getaffinity(0)), psutil.virtual_memory().total)


def count_gpus(nodes: Path = Path("/dev")) -> int:
    """How many GPUs a training's children can compute on; it takes seconds where `nodes` has any, and one tries them.

    Those that a driver has and children cannot use are named in the log, and count as none.
    """
    if not any(path for name in GPU_NODES for path in nodes.glob(name)):
        return 0
    try:
        found = run_child(gpus_job.JOB, gpus_job.GpusArguments(), limits=gpus_job.LIMITS).gpus
    except CoterieError as error:
        logger.warning("this host has GPUs that trainings cannot use, and trains on cores: %s", error)
        return 0
    if found == 0:
        logger.warning("this host has GPUs that PyTorch does not find: is it a build for cores alone (+cpu)?")
    return found


def tell(now: datetime, *, gpus: int) -> None:
    """Register this machine, or say that it is still there."""
    facts = look()
    register_host(
        name=settings.CLUSTER_HOST,
        rack=settings.CLUSTER_RACK,
        address=settings.CLUSTER_ADDRESS,
        launcher=settings.CLUSTER_LAUNCHER,
        places=settings.CLUSTER_PLACES or max(FEWEST_PLACES, facts.cores),
        cores=facts.cores,
        gpus=gpus,
        memory_bytes=facts.memory_bytes,
        now=now,
    )


class Presence:
    """Tells it in a thread of its own."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def begin(self) -> None:
        """Return at once."""
        self._thread.start()

    def end(self) -> None:
        """Tell nothing any more: the host is lost within seconds."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        gpus = count_gpus()
        while True:
            try:
                tell(timezone.now(), gpus=gpus)
            except DatabaseError:
                logger.warning("this host could not say that it is there; trying again", exc_info=True)
            finally:
                connection.close()
            if self._done.wait(HEARTBEAT_S):
                return
