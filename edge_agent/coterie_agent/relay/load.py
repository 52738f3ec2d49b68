"""How much a supernode can take on now: it sheds neighbours before it fails them, and says why."""

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
"""Below this the next sum may not fit."""
RECOVERED = 0.8
"""Share of a limit below which a supernode that was loaded is not any more, so that it does not waver."""


class Load(NamedTuple):
    """What a device is at."""

    processes: float
    """Waiting for a core or on one, by core, as a mean of the last minute."""
    memory_bytes: int
    """Free for new use."""
    disk_bytes: int
    """Free where updates are kept."""


def measure_load(folder: Path) -> Load:
    """Of this moment; `folder` is where updates are kept."""
    processes = os.getloadavg()[0] / (os.cpu_count() or 1)
    return Load(processes, psutil.virtual_memory().available, shutil.disk_usage(folder).free)


@dataclass(kw_only=True)
class LoadWatch:
    """Judges the load; remembers whether there was too much of it."""

    measure: Callable[[], Load]
    held: Callable[[], int]
    """How many updates of neighbours are here or on their way."""
    max_load: float
    """Of `Load.processes`."""
    spare_bytes: int
    """Of disk."""
    _is_loaded: bool = False

    def look(self, conditions: Conditions) -> Shedding | None:
        """Whom it can keep; None: as many as its owner lets it.

        On battery or a metered network it keeps nobody; under load those whose updates are here.
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
