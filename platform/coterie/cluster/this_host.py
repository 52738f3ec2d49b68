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

from coterie.cluster.services import register_host
from coterie.core.lease import HEARTBEAT_S

logger = logging.getLogger(__name__)

FEWEST_PLACES = 2
"""A pair can be tried while another one trains, whatever the machine."""
NVIDIA = Path("/proc/driver/nvidia/gpus")


class Facts(NamedTuple):
    """A machine."""

    cores: int
    gpus: int
    memory_bytes: int


def look() -> Facts:
    """What this process may use."""
    gpus = len(list(NVIDIA.iterdir())) if NVIDIA.is_dir() else 0
    return Facts(len(os.sched_getaffinity(0)), gpus, psutil.virtual_memory().total)


def tell(now: datetime) -> None:
    """Register this machine, or say that it is still there."""
    facts = look()
    register_host(
        name=settings.CLUSTER_HOST,
        rack=settings.CLUSTER_RACK,
        address=settings.CLUSTER_ADDRESS,
        launcher=settings.CLUSTER_LAUNCHER,
        places=settings.CLUSTER_PLACES or max(FEWEST_PLACES, facts.cores),
        cores=facts.cores,
        gpus=facts.gpus,
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
        while True:
            try:
                tell(timezone.now())
            except DatabaseError:
                logger.warning("this host could not say that it is there; trying again", exc_info=True)
            finally:
                connection.close()
            if self._done.wait(HEARTBEAT_S):
                return
