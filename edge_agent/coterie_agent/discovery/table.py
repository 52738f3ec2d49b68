"""Kademlia's routing table (Maymounkov and Mazières 2002, §2.2 and §2.4), without clock or network.

A contact is in the bucket of the highest bit in which its place differs from the own one. A bucket holds the `NEAR`
oldest contacts, since long-lived contacts tend to stay; newer ones wait in a replacement cache, and replace one that
does not answer.
"""

import heapq
import random
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from coterie_wire.discovery import ID_BYTES, NEAR

BITS = 8 * ID_BYTES
MISSES = 2
"""Consecutive unanswered calls after which a contact is replaced."""


class Contact(Protocol):
    """A device in the table."""

    @property
    def place(self) -> int:
        """From 0 to 2^160 - 1."""


C = TypeVar("C", bound=Contact)


class _Bucket(Generic[C]):
    def __init__(self) -> None:
        self.contacts: dict[int, C] = {}
        """By place, the least recently seen first."""
        self.waiting: dict[int, C] = {}
        self.missed: dict[int, int] = {}


class RoutingTable(Generic[C]):
    """The contacts of one device: the more, the nearer to its own place."""

    def __init__(self, own: int) -> None:
        self.own = own
        self._buckets: dict[int, _Bucket[C]] = {}

    def __len__(self) -> int:
        return sum(len(bucket.contacts) for bucket in self._buckets.values())

    def __iter__(self) -> Iterator[C]:
        for bucket in self._buckets.values():
            yield from bucket.contacts.values()

    def add(self, contact: C) -> None:
        """Add a contact to its bucket if there is room, else to the replacement cache."""
        if contact.place == self.own:
            return
        bucket = self._bucket(contact.place)
        if contact.place in bucket.contacts:
            bucket.contacts[contact.place] = contact
        elif len(bucket.contacts) < NEAR:
            bucket.contacts[contact.place] = contact
            bucket.waiting.pop(contact.place, None)
        else:
            bucket.waiting.pop(contact.place, None)
            bucket.waiting[contact.place] = contact
            if len(bucket.waiting) > NEAR:
                del bucket.waiting[next(iter(bucket.waiting))]

    def mark_alive(self, contact: C) -> None:
        """Note that the contact has called or answered."""
        self.add(contact)
        bucket = self._buckets.get(self._index(contact.place))
        if bucket is not None and contact.place in bucket.contacts:
            bucket.missed.pop(contact.place, None)
            del bucket.contacts[contact.place]
            bucket.contacts[contact.place] = contact

    def missed(self, place: int) -> None:
        """Note an unanswered call; after `MISSES` in a row the newest waiting contact replaces it."""
        bucket = self._buckets.get(self._index(place))
        if bucket is None or place not in bucket.contacts:
            return
        bucket.missed[place] = bucket.missed.get(place, 0) + 1
        if bucket.missed[place] >= MISSES:
            self.drop(place)

    def drop(self, place: int) -> None:
        """Remove a contact, which the newest waiting one replaces."""
        bucket = self._buckets.get(self._index(place))
        if bucket is None:
            return
        bucket.waiting.pop(place, None)
        bucket.missed.pop(place, None)
        if bucket.contacts.pop(place, None) is not None and bucket.waiting:
            newest = next(reversed(bucket.waiting))
            bucket.contacts[newest] = bucket.waiting.pop(newest)

    def nearest(self, target: int, count: int = NEAR) -> Sequence[C]:
        """At most `count` contacts, nearest to `target` first; those that missed their last call come last."""
        doubtful = {place for bucket in self._buckets.values() for place in bucket.missed}
        return heapq.nsmallest(count, self, key=lambda contact: (contact.place in doubtful, contact.place ^ target))

    def to_refresh(self, rng: random.Random) -> Sequence[int]:
        """A random place to look up in each bucket from that of the nearest contact up, so that all stay filled."""
        known = [index for index, bucket in self._buckets.items() if bucket.contacts]
        spans = range(min(known), BITS) if known else ()
        return [self.own ^ (1 << index) ^ rng.getrandbits(index) for index in spans]

    def _bucket(self, place: int) -> _Bucket[C]:
        return self._buckets.setdefault(self._index(place), _Bucket())

    def _index(self, place: int) -> int:
        return (place ^ self.own).bit_length() - 1
