"""The federation's profiles as an index of neighbours, kept in memory and current; the database is the truth.

Every process that searches has its own: built from the rows when it is first asked, and from then on told of the rows
that have changed since.
"""

import threading
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import numpy as np

from coterie.transfer.models import DeviceProfile, HelpRequest
from coterie_wire.help.cartel import Cartel
from coterie_wire.helping import Profile
from coterie_wire.profile import Float64, jensen_shannon

LAGGING = timedelta(seconds=10)
"""Rows so young are read again: clocks of processes differ, and transactions commit out of order."""
KEPT = 64
"""Federations whose index a process keeps."""


class Neighbour(NamedTuple):
    """A device that could help."""

    device: UUID
    divergence: float
    """Jensen-Shannon divergence of the two devices' class shares, in bits."""


class Neighbourhood:
    """One federation's index."""

    def __init__(self, federation_id: UUID, classes: int) -> None:
        self._federation_id = federation_id
        self._classes = classes
        self._rows: dict[UUID, Profile] = {}
        self._read_to: datetime | None = None
        self._lock = threading.Lock()

    def nearest(
        self, profile: Profile, classes: Sequence[int], cartel: Cartel, *, exclude: Collection[UUID], limit: int
    ) -> list[Neighbour]:
        """The most similar devices that know `classes` well, are not drifting and are willing, nearest first."""
        with self._lock:
            self._refresh()
            prior = _prior(profile, self._classes)
            found = [
                Neighbour(device, jensen_shannon(_prior(row, self._classes), prior))
                for device, row in self._rows.items()
                if device not in exclude and _can_help(row, classes, cartel)
            ]
        near = [neighbour for neighbour in found if neighbour.divergence <= cartel.largest_divergence]
        return sorted(near, key=lambda neighbour: (neighbour.divergence, neighbour.device))[:limit]

    def _refresh(self) -> None:
        changed = DeviceProfile.objects.filter(federation=self._federation_id).order_by("updated_at")
        if self._read_to is not None:
            changed = changed.filter(updated_at__gte=self._read_to - LAGGING)
        for row in changed.iterator():
            self._rows[row.device_id] = row.profile()
            self._read_to = row.updated_at


def nearest(request: HelpRequest, *, exclude: Collection[UUID], limit: int) -> list[Neighbour]:
    """The devices of the request's federation that could help with it, nearest first."""
    classes = request.federation.pair.model_spec().classes
    index = _index(request.federation_id, classes)
    return index.nearest(
        request.asked_profile(), tuple(request.classes), request.cartel(), exclude=exclude, limit=limit
    )


def forget_indexes() -> None:
    """As a process that has just been started."""
    _index.cache_clear()


@lru_cache(maxsize=KEPT)
def _index(federation_id: UUID, classes: int) -> Neighbourhood:
    return Neighbourhood(federation_id, classes)


def _prior(profile: Profile, classes: int) -> Float64:
    counts = np.zeros(classes)
    counts[list(profile.classes)] = profile.counts
    prior: Float64 = counts / max(1.0, counts.sum())
    return prior


def _can_help(row: Profile, classes: Sequence[int], cartel: Cartel) -> bool:
    if row.hits is None or not row.willing or row.drifting or (row.error or 0.0) > cartel.helper_error:
        return False
    recall = {
        label: hits / count for label, count, hits in zip(row.classes, row.counts, row.hits, strict=True) if count
    }
    return all(recall.get(label, 0.0) >= cartel.helper_recall for label in classes)
