"""A look-up of Kademlia (Maymounkov and Mazières 2002, §2.3): which devices to ask next, without clock or network."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic

from coterie_agent.discovery.table import C
from coterie_wire.discovery import NEAR

AT_ONCE = 3
"""Devices that are asked at the same time: the α of the paper."""


class Lookup(Generic[C]):
    """Asks nearer and nearer devices, until the nearest `NEAR` that answer have been asked, or one is `wanted`."""

    def __init__(self, target: int, start: Iterable[C], *, own: int, wanted: Callable[[C], bool] | None = None) -> None:
        """`wanted` says of a contact whether the look-up ends with it; None: it ends with the nearest."""
        self.target = target
        self.found: C | None = None
        self.asked = 0
        self.hops = 0
        """The longest way from a device that was known at the start to one that has answered."""
        self._own, self._wanted = own, wanted
        self._known: dict[int, C] = {}
        self._depths: dict[int, int] = {}
        self._open: set[int] = set()
        self._answered: set[int] = set()
        self._failed: set[int] = set()
        self._learn(start, 1)

    def next(self) -> Sequence[C]:
        """Whom to ask now beside those that are being asked; none once the look-up has ended, or waits."""
        if self.found is not None:
            return ()
        fresh = [place for place in self._candidates() if place not in self._answered | self._open]
        chosen = fresh[: max(0, AT_ONCE - len(self._open))]
        self._open.update(chosen)
        self.asked += len(chosen)
        return [self._known[place] for place in chosen]

    def answered(self, contact: C, near: Iterable[C]) -> None:
        """`contact` knows these."""
        self._open.discard(contact.place)
        self._answered.add(contact.place)
        depth = self._depths[contact.place]
        self.hops = max(self.hops, depth)
        self._learn(near, depth + 1)

    def failed(self, contact: C) -> None:
        """It does not answer."""
        self._open.discard(contact.place)
        self._failed.add(contact.place)

    @property
    def nearest(self) -> Sequence[C]:
        """Of those that have answered the nearest, the nearest first."""
        places = sorted(self._answered, key=self._distance)[:NEAR]
        return [self._known[place] for place in places]

    def _learn(self, contacts: Iterable[C], depth: int) -> None:
        for contact in contacts:
            if contact.place == self._own:
                continue
            if self.found is None and self._wanted is not None and self._wanted(contact):
                self.found = contact
            self._known.setdefault(contact.place, contact)
            self._depths.setdefault(contact.place, depth)

    def _candidates(self) -> Sequence[int]:
        return sorted(self._known.keys() - self._failed, key=self._distance)[:NEAR]

    def _distance(self, place: int) -> int:
        return place ^ self.target
