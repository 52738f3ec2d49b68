"""The federation's profiles as an index of neighbours, kept in memory and current; the database is the truth.

Every process that searches has its own: built from the rows at the first search, and refreshed at each later one with
the rows that have changed since.
"""

import threading
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import numpy as np

from coterie.transfer.models import DeviceProfile, HelpRequest
from coterie_learning import neighbours
from coterie_learning.help import MatchRules
from coterie_learning.neighbours import NeighbourIndex, Wanted
from coterie_learning.profile import Counts
from coterie_learning.unmatched import UnmatchedTensors
from coterie_wire.helping import Profile

LAGGING = timedelta(seconds=10)
"""Rows changed this recently are read again: clocks of processes differ, and transactions commit out of order."""
KEPT = 64
"""At most so many federations' indexes are held by a process."""


class Neighbour(NamedTuple):
    """A device whose data are similar to another's."""

    device: UUID
    divergence: float
    """Jensen-Shannon divergence of the two devices' class shares, in bits."""


class Neighbourhood:
    """One federation's index."""

    def __init__(self, federation_id: UUID, classes: int) -> None:
        self._federation_id = federation_id
        self._classes = classes
        self._index = NeighbourIndex(classes)
        self._read_to: datetime | None = None
        self._lock = threading.Lock()

    def nearest(
        self, profile: Profile, classes: Sequence[int], rules: MatchRules, *, exclude: Collection[UUID], limit: int
    ) -> list[Neighbour]:
        """The most similar devices that know `classes` well, are not drifting and are willing, nearest first."""
        query = Wanted(_counts(profile, self._classes), classes)
        with self._lock:
            self._refresh()
            found = self._index.search(query, rules, limit=limit, exclude={str(device) for device in exclude})
        return [Neighbour(UUID(match.device), match.divergence) for match in found]

    def unfit(
        self, profile: Profile, classes: Sequence[int], rules: MatchRules, *, exclude: Collection[UUID]
    ) -> UnmatchedTensors:
        """Why the other devices cannot help, in counts."""
        query = Wanted(_counts(profile, self._classes), classes)
        with self._lock:
            self._refresh()
            return self._index.unfit(query, rules, exclude={str(device) for device in exclude})

    def nearest_to(self, own: DeviceProfile, *, limit: int) -> list[Neighbour]:
        """The devices with the data most similar to `own`'s, whether they can help or not, nearest first."""
        prior = _counts(own.profile(), self._classes).prior()
        with self._lock:
            self._refresh()
            found = self._index.nearest(prior, limit=limit, exclude={str(own.device_id)})
        return [Neighbour(UUID(match.device), match.divergence) for match in found]

    def _refresh(self) -> None:
        changed = DeviceProfile.objects.filter(federation=self._federation_id).order_by("updated_at")
        if self._read_to is not None:
            changed = changed.filter(updated_at__gte=self._read_to - LAGGING)
        for row in changed.iterator():
            self._index.put(str(row.device_id), _indexed(row.profile(), self._classes))
            self._read_to = row.updated_at


def nearest(request: HelpRequest, *, exclude: Collection[UUID], limit: int) -> list[Neighbour]:
    """The devices of the request's federation that could help with it, nearest first."""
    classes = request.federation.pair.model_spec().classes
    index = _index(request.federation_id, classes)
    return index.nearest(
        request.parsed_profile(), tuple(request.classes), request.rules(), exclude=exclude, limit=limit
    )


def unfit(request: HelpRequest, *, exclude: Collection[UUID]) -> UnmatchedTensors:
    """Why the devices of the request's federation cannot help with it, in counts."""
    index = _index(request.federation_id, request.federation.pair.model_spec().classes)
    return index.unfit(request.parsed_profile(), tuple(request.classes), request.rules(), exclude=exclude)


def nearest_to_profile(own: DeviceProfile, *, limit: int) -> list[Neighbour]:
    """The devices of the profile's federation with the most similar data, nearest first."""
    classes = own.federation.pair.model_spec().classes
    return _index(own.federation_id, classes).nearest_to(own, limit=limit)


def prior_of(profile: Profile, classes: int) -> list[float]:
    """The share of each class in the batches of `profile`."""
    shares: list[float] = _counts(profile, classes).prior().tolist()
    return shares


def clear_indexes() -> None:
    """Drop all indexes of this process, as if it had just started."""
    _index.cache_clear()


@lru_cache(maxsize=KEPT)
def _index(federation_id: UUID, classes: int) -> Neighbourhood:
    return Neighbourhood(federation_id, classes)


def _counts(profile: Profile, classes: int) -> Counts:
    """The profile's counts; a device that reports no errors counts as wrong on everything."""
    samples, wrong = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    reported = list(profile.classes)
    samples[reported] = profile.counts
    wrong[reported] = (
        samples[reported] if profile.hits is None else samples[reported] - np.array(profile.hits, np.int64)
    )
    return Counts(samples, wrong)


def _indexed(profile: Profile, classes: int) -> neighbours.Neighbour:
    """The profile as the index holds it; whether the device is busy is read from the database when it is matched."""
    return neighbours.Neighbour(_counts(profile, classes), drifting=profile.drifting, willing=profile.willing)
