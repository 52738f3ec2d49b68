"""Diffie-Hellman private set intersection: two parties find the people whom both have, and reveal no others.

Each maps its identifiers to points of a group and multiplies them by its secret number; the other multiplies them by
its own, and points of the same person are then equal in either order. Meadows, A More Efficient Cryptographic
Matchmaking Protocol (1986); Huberman, Franklin and Hogg, Enhancing Privacy and Trust in Electronic Communities (1999).
The group is the prime-order subgroup of Ed25519; a party that follows the protocol learns only how many points the
other has and which of them it has too.
"""

import hashlib
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from nacl.bindings import (
    crypto_core_ed25519_add,
    crypto_core_ed25519_from_uniform,
    crypto_core_ed25519_is_valid_point,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_noclamp,
)
from nacl.utils import randombytes_deterministic
from numpy.typing import NDArray

from coterie_learning.vertical.letters import CHUNK_POINTS, MAX_ROWS, POINT_BYTES, Blinded, Doubled
from coterie_wire.errors import WireError

Int64 = NDArray[np.int64]


class AlignmentState(msgspec.Struct, frozen=True):
    """The state of an intersection; together with the identifiers, all that is needed to resume."""

    salt: bytes
    """The same for both parties, and different for every intersection."""
    secret: bytes
    """32 secret bytes."""
    expected: int | None = None
    """How many people the other party has; None: not received yet."""
    theirs: bytes = b""
    """The other party's points multiplied by both numbers, in its order."""
    own: bytes = b""
    """Our points multiplied by both numbers, in the order in which we sent them."""


class Alignment:
    """One party's side of the intersection."""

    def __init__(self, identifiers: Sequence[str], state: AlignmentState) -> None:
        """`identifiers` are unique, and the same, in the same order, whenever it is resumed."""
        self._identifiers, self.state = identifiers, state
        self._scalar = _scalar(state.secret)

    def begin(self) -> Iterator[Blinded]:
        """The first messages: our points, in an order that does not reveal that of the rows."""
        count = len(self._identifiers)
        points = [
            _times(self._scalar, element(self._identifiers[row], salt=self.state.salt)) for row in self._order(count)
        ]
        for first in range(0, count, CHUNK_POINTS):
            yield Blinded(count, first, b"".join(points[first : first + CHUNK_POINTS]))

    def take_blinded(self, letter: Blinded) -> Doubled:
        """Multiply the other party's points by our number, to send them back.

        Raises WireError ``vertical.hostile_points`` or ``vertical.out_of_order``.
        """
        state = self.state
        arrived = len(state.theirs) // POINT_BYTES
        if letter.first != arrived or state.expected not in (None, letter.total):
            raise WireError("vertical.out_of_order", f"points from {letter.first} on, when {arrived} have come")
        points = list(_points(letter.points))
        if not 0 < letter.total <= MAX_ROWS or arrived + len(points) > letter.total:
            raise WireError("vertical.hostile_points", f"{arrived + len(points)} points of {letter.total} announced")
        doubled = b"".join(_times(self._scalar, point) for point in points)
        theirs = state.theirs + doubled
        if len(set(_points(theirs))) * POINT_BYTES != len(theirs):
            raise WireError("vertical.hostile_points", "a point comes twice")
        self.state = msgspec.structs.replace(state, expected=letter.total, theirs=theirs)
        return Doubled(letter.first, doubled)

    def take_doubled(self, letter: Doubled) -> None:
        """Receive our own points, as returned by the other party.

        Raises WireError ``vertical.hostile_points`` or ``vertical.out_of_order``.
        """
        arrived = len(self.state.own) // POINT_BYTES
        if letter.first != arrived:
            raise WireError("vertical.out_of_order", f"points from {letter.first} on, when {arrived} have come")
        for point in _points(letter.points):
            _check(point)
        own = self.state.own + letter.points
        count = len(own) // POINT_BYTES
        if count > len(self._identifiers) or len(set(_points(own))) != count:
            raise WireError("vertical.hostile_points", "more points come back than were sent, or one comes twice")
        self.state = msgspec.structs.replace(self.state, own=own)

    @property
    def is_complete(self) -> bool:
        """Whether both parties' points have been received."""
        state = self.state
        return (
            state.expected is not None
            and len(state.theirs) == state.expected * POINT_BYTES
            and len(state.own) == len(self._identifiers) * POINT_BYTES
        )

    def rows(self) -> Int64:
        """Our row numbers of the common people, in the order of their points, which is the same for both parties."""
        assert self.is_complete
        common = set(_points(self.state.theirs))
        order = self._order(len(self._identifiers))
        known = [(point, row) for point, row in zip(_points(self.state.own), order, strict=True) if point in common]
        return np.array([row for _, row in sorted(known)], np.int64)

    def _order(self, count: int) -> list[int]:
        lots = np.frombuffer(randombytes_deterministic(8 * count, _derived(self.state.secret, b"order")), "<u8")
        found: list[int] = lots.argsort(kind="stable").tolist()
        return found


def element(identifier: str, *, salt: bytes) -> bytes:
    """The point of an identifier: hash to curve by the sum of two maps (RFC 9380, section 3)."""
    uniform = hashlib.blake2b(identifier.encode(), key=salt[:64], person=b"coterie-psi-1").digest()
    first, second = (crypto_core_ed25519_from_uniform(half) for half in (uniform[:32], uniform[32:]))
    return bytes(crypto_core_ed25519_add(first, second))


def _scalar(secret: bytes) -> bytes:
    return bytes(crypto_core_ed25519_scalar_reduce(hashlib.blake2b(secret, person=b"coterie-psi-k").digest()))


def _derived(secret: bytes, what: bytes) -> bytes:
    return hashlib.blake2b(secret, digest_size=32, person=b"coterie-" + what).digest()


def _times(scalar: bytes, point: bytes) -> bytes:
    _check(point)
    return bytes(crypto_scalarmult_ed25519_noclamp(scalar, point))


def _check(point: bytes) -> None:
    """Refuse points outside the subgroup, which would reveal information about the secret number."""
    if not crypto_core_ed25519_is_valid_point(point):
        raise WireError("vertical.hostile_points", "a point is not of the group")


def _points(content: bytes) -> Iterator[bytes]:
    if len(content) % POINT_BYTES:
        raise WireError("vertical.hostile_points", f"{len(content)} bytes are no whole number of points")
    return (content[at : at + POINT_BYTES] for at in range(0, len(content), POINT_BYTES))
