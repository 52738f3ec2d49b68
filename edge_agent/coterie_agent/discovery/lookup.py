"""A Kademlia look-up (Maymounkov and Mazières 2002, §2.3): which devices to ask next, without clock or network."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic

from coterie_agent.discovery.table import C
from coterie_wire.discovery import NEAR

PARALLEL = 3
"""Devices asked at the same time: α in the paper."""


class Lookup(Generic[C]):
    """Asks ever nearer devices, until the nearest `NEAR` that answer have been asked, or one satisfies `is_target`."""

    def __init__(
        self, target: int, start: Iterable[C], *, own: int, is_target: Callable[[C], bool] | None = None
    ) -> None:
        """`is_target`: whether the look-up ends with a contact; None: it ends with the nearest."""
        self.target = target
        self.found: C | None = None
        self.asked = 0
        self.hops = 0
        """The largest number of steps from a device known at the start to one that has answered."""
        self._own, self._is_target = own, is_target
        self._known: dict[int, C] = {}
        self._depths: dict[int, int] = {}
        self._open: set[int] = set()
        self._answered: set[int] = set()
        self._failed: set[int] = set()
        self._add(start, 1)

    def next(self) -> Sequence[C]:
        """Contacts to ask now in addition to those being asked; empty once the look-up has ended, or must wait."""
        if self.found is not None:
            return ()
        fresh = [place for place in self._candidates() if place not in self._answered | self._open]
        chosen = fresh[: max(0, PARALLEL - len(self._open))]
        self._open.update(chosen)
        self.asked += len(chosen)
        return [self._known[place] for place in chosen]

    def answered(self, contact: C, near: Iterable[C]) -> None:
        """Note the answer of `contact`: it knows `near`."""
        self._open.discard(contact.place)
        self._answered.add(contact.place)
        depth = self._depths[contact.place]
        self.hops = max(self.hops, depth)
        self._add(near, depth + 1)

    def failed(self, contact: C) -> None:
        """Note that `contact` does not answer."""
        self._open.discard(contact.place)
        self._failed.add(contact.place)

    @property
    def nearest(self) -> Sequence[C]:
        """The nearest contacts that have answered, nearest first."""
        places = sorted(self._answered, key=self._distance)[:NEAR]
        return [self._known[place] for place in places]

    def _add(self, contacts: Iterable[C], depth: int) -> None:
        for contact in contacts:
            if contact.place == self._own:
                continue
            if self.found is None and self._is_target is not None and self._is_target(contact):
                self.found = contact
            self._known.setdefault(contact.place, contact)
            self._depths.setdefault(contact.place, depth)

    def _candidates(self) -> Sequence[int]:
        return sorted(self._known.keys() - self._failed, key=self._distance)[:NEAR]

    def _distance(self, place: int) -> int:
        return place ^ self.target
