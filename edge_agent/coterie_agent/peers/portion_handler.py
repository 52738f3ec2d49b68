"""Serves a portion over a direct path to the device that requested it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from coterie_agent.store.peers import PeersStore
from coterie_wire.errors import WireError
from coterie_wire.helping import Fetch, Fetched, OfferPortion, PortionOf
from coterie_wire.relaying import DirectPeer, read_with_body, seal, unseal, with_body

PIECE_BYTES = 256 << 10
"""Largest piece in one answer."""


@dataclass(kw_only=True)
class PortionHandler:
    """The handler; safe to use from several threads."""

    store: PeersStore
    secret: bytes
    record_sent: Callable[[str, int], None]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _transfer: str = ""
    _to: DirectPeer | None = None
    _waits_from: float | None = None
    _fetched: OfferPortion | None = None

    def give(self, transfer: str, to: DirectPeer) -> None:
        """Let that device fetch the portion of `transfer` from now on."""
        with self._lock:
            if self._transfer != transfer:
                self._transfer, self._waits_from = transfer, None
            self._to = to

    def wait(self) -> None:
        """Start to wait: the other device is told that it may fetch the portion."""
        with self._lock:
            self._waits_from = self.clock()

    def waited_s(self) -> float | None:
        """Seconds since `wait`; None: it was not called for this transfer."""
        with self._lock:
            return None if self._waits_from is None else self.clock() - self._waits_from

    def withdraw(self) -> None:
        """Let no device fetch the portion any more."""
        with self._lock:
            self._to = None

    def fetched(self) -> OfferPortion | None:
        """A portion that was fetched to its end, if this device still stores it; else None."""
        with self._lock:
            return self._fetched if self._fetched == self.store.serving() else None

    def admit(self, line: bytes) -> DirectPeer:
        """The device that may fetch the portion. Raises WireError ``portion.not_given`` or ``relay.malformed``."""
        asked, _ = read_with_body(line, PortionOf)
        with self._lock:
            if self._to is None or asked.transfer != self._transfer:
                raise WireError("portion.not_given", "this device has no portion of that transfer to give now")
            return self._to

    def receive(self, to: DirectPeer, sealed: bytes) -> bytes:
        """A sealed piece of the portion. Raises WireError ``portion.not_given`` or ``relay.*``."""
        asked, _ = read_with_body(unseal(sealed, secret=self.secret, by=to.key), Fetch)
        offer = self.store.serving()
        if offer is None or offer.transfer != asked.transfer:
            raise WireError("portion.not_given", "this device has no portion of that transfer to give now")
        piece = self.store.read_served(asked.offset, PIECE_BYTES)
        self.record_sent("portion", len(piece))
        with self._lock:
            if asked.offset + len(piece) == offer.size_bytes:
                self._fetched = offer
        return seal(with_body(Fetched(asked.number), piece), secret=self.secret, to=to.key)
