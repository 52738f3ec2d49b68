"""Registers this machine, repeatedly, while a Celery worker runs on it."""

import logging
import os
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import psutil
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from coterie.child.job import Limits
from coterie.child.run import run_child
from coterie.cloud import gpus_job
from coterie.cluster.services import register_host
from coterie.core.errors import CoterieError
from coterie.core.lease import HEARTBEAT_S
from coterie.core.one_line import one_line

logger = logging.getLogger(__name__)

FEWEST_PLACES = 2
"""A pair can be checked while another one trains, on any machine."""
GPU_NODES = ("nvidia[0-9]*", "kfd")
"""In /dev, of the drivers of GPUs on which PyTorch computes: CUDA's and ROCm's."""


class Facts(NamedTuple):
    """Hardware of a machine."""

    cores: int
    memory_bytes: int


def measure() -> Facts:
    """The cores and memory that this process may use."""
    return Facts(len(os.sched_getaffinity(0)), psutil.virtual_memory().total)


class Gpus(NamedTuple):
    """Of a machine."""

    usable: int
    """How many a training's children can compute on."""
    problem: str = ""
    """Why they cannot be used, although there is a driver; blank: no problem."""


def detect_gpus(nodes: Path = Path("/dev")) -> Gpus:
    """Takes seconds where `nodes` has any: a child tries them, and where it fails, one that is not confined."""
    if not any(path for name in GPU_NODES for path in nodes.glob(name)):
        return Gpus(0)
    try:
        return Gpus(_tried(gpus_job.LIMITS))
    except CoterieError as error:
        problem = str(error)
    try:
        free = _tried(replace(gpus_job.LIMITS, confined=False))
    except CoterieError as error:
        return Gpus(0, f"{problem} A child that is not confined cannot either: {error}")
    return Gpus(0, f"{problem} A child that is not confined computes on {free}: what confines it is in the way.")


def count_gpus(nodes: Path = Path("/dev")) -> int:
    """How many GPUs a training's children can compute on; where a driver has others, the log says why."""
    found = detect_gpus(nodes)
    if found.problem:
        logger.warning("this host has GPUs that trainings cannot use, and trains on cores: %s", found.problem)
    return found.usable


def _tried(limits: Limits) -> int:
    """Raises what `run_child` does."""
    return run_child(gpus_job.JOB, gpus_job.GpusArguments(), limits=limits).gpus


def register(now: datetime, *, gpus: int) -> None:
    """Register this machine, or renew its registration."""
    facts = measure()
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
    """Registers it in a separate thread."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def begin(self) -> None:
        """Start; returns at once."""
        self._thread.start()

    def end(self) -> None:
        """Stop registering: the host is lost within seconds."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        gpus = count_gpus()
        while True:
            try:
                register(timezone.now(), gpus=gpus)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("this host could not say that it is there; trying again: %s", one_line(error))
            finally:
                connection.close()
            if self._done.wait(HEARTBEAT_S):
                return
