"""The load of a supernode: it sheds members before it would fail them, and reports why."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from coterie_wire.conditions import Conditions, Reason
from coterie_wire.relaying import MAX_MEMBERS, Shedding

SPARE_MEMORY_BYTES = 128 << 20
"""Free memory below which the next sum may not fit."""
RECOVERED = 0.8
"""Share of a limit below which an overloaded supernode counts as recovered (hysteresis)."""


class Load(NamedTuple):
    """The load of a device."""

    processes: float
    """Runnable processes per core, as a mean of the last minute."""
    memory_bytes: int
    """Available memory."""
    disk_bytes: int
    """Free bytes on the file system of the updates."""


def measure_load(folder: Path) -> Load:
    """The current load; `folder` is that of the updates."""
    processes = os.getloadavg()[0] / (os.cpu_count() or 1)
    return Load(processes, psutil.virtual_memory().available, shutil.disk_usage(folder).free)


@dataclass(kw_only=True)
class LoadWatch:
    """Judges the load; remembers whether it was too high."""

    measure: Callable[[], Load]
    held: Callable[[], int]
    """Number of neighbours' updates that are complete or arriving."""
    max_load: float
    """Limit of `Load.processes`."""
    spare_bytes: int
    """Least free disk space in bytes."""
    _is_loaded: bool = False

    def check(self, conditions: Conditions) -> Shedding | None:
        """How many members it keeps; None: as many as its owner allows.

        On battery or a metered network it keeps none; under load only those whose updates it holds.
        """
        if conditions.charging == "no":
            return Shedding(keep=0, reason=Reason("relay.on_battery", "it is on battery"))
        if conditions.network in ("metered", "none"):
            return Shedding(keep=0, reason=Reason("relay.metered", "its network is metered, or away"))
        found = self._overload(self.measure())
        self._is_loaded = found is not None
        return None if found is None else Shedding(keep=min(MAX_MEMBERS, self.held()), reason=found)

    def _overload(self, load: Load) -> Reason | None:
        ease = RECOVERED if self._is_loaded else 1.0
        if load.processes > self.max_load * ease:
            return Reason("relay.processors_loaded", f"more than {self.max_load:g} processes wait for each core")
        if load.memory_bytes * ease < SPARE_MEMORY_BYTES:
            return Reason("relay.memory_full", f"it has less than {SPARE_MEMORY_BYTES >> 20} MiB of memory left")
        if load.disk_bytes * ease < self.spare_bytes:
            return Reason("relay.disk_full", f"it has less than {self.spare_bytes >> 20} MiB of disk left")
        return None
