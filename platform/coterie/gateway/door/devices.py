"""Limits for one device, and for an address that guesses credentials."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from django.conf import settings

from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.models import Device
from coterie.fleet.selectors import Shown, device_of, device_of_credential
from coterie.gateway.door.known_secrets import KNOWN_S, KnownSecrets
from coterie.gateway.door.limits import LIMITS, Limits
from coterie.gateway.door.rates import Rates, TooManyRequests
from coterie.gateway.door.requester import current_requester
from coterie.gateway.door.turns import Turns
from coterie.gateway.threads import in_anonymous_thread, in_thread
from coterie_wire.limit_log import LIMIT_LOG


class TooManySockets(CoterieError):
    """Fields: limit, wait_s."""

    code = "gateway.too_many_sockets"
    kind = ErrorKind.THROTTLED
    sentence = "This device has {limit} sockets open already; close one, or wait {wait_s} s until lost ones have ended."


class DeviceGate:
    """Applies the limits to devices. Used on one event loop."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._rates = Rates()
        self._turns = Turns(each=limits.requests_per_device, most=limits.requests_waiting)
        self._known = KnownSecrets()
        self._sockets: dict[str, int] = {}

    @contextmanager
    def guessing(self, address: str) -> Iterator[None]:
        """Run a block that checks a secret; a wrong one counts against the address. Raises TooManyRequests."""
        who, limit = f"address {address}", self._limits.guesses_per_minute
        if self._rates.spent(who, per_minute=limit):
            LIMIT_LOG.log(address, "gateway.too_many_requests")
            self._rates.take(who, per_minute=limit)
        try:
            yield
        except CoterieError as error:
            if error.kind is ErrorKind.UNAUTHENTICATED:
                LIMIT_LOG.log(address, error.code)
                self._rates.take(who, per_minute=limit)
            raise

    def count(self, shown: Shown, address: str) -> None:
        """Count one request of a device. Raises TooManyRequests."""
        limit = settings.DEVICE_REQUESTS_PER_MINUTE
        try:
            self._rates.take(hash_secret(shown.both), per_minute=limit)
        except TooManyRequests as error:
            LIMIT_LOG.log(address, error.code)
            raise TooManyRequests(who="this device", limit=limit, wait_s=error.fields["wait_s"]) from None

    @asynccontextmanager
    async def turn(self, shown: Shown) -> AsyncIterator[None]:
        """Answer a limited number of a device's requests at the same time; some more wait. Raises TooManyWaiting."""
        async with self._turns.turn(hash_secret(shown.both)):
            yield

    @asynccontextmanager
    async def admitted(self, shown: Shown, address: str, *, body_bytes: int | None) -> AsyncIterator[None]:
        """Answer a request of a device, in its turn, in the block; `body_bytes` is None where it is not declared.

        A credential that was valid within a day is not looked up before the answer looks it up; for a body larger than
        an unauthenticated sender may send, it must have been valid a moment ago. Raises RefusedTooOften,
        TooManyRequests, TooManyWaiting and what `device_of` raises.
        """
        is_large = body_bytes is None or body_bytes > self._limits.body_bytes
        with self.recognised(shown, address):
            if is_large and shown.both not in self._known:
                await self.find_device(shown)
                self.proven(shown)
            elif not self._known.was_valid(shown.both):
                await in_anonymous_thread(lambda: device_of_credential(shown.credential))
                self.proven(shown, ago_s=KNOWN_S)  # the answer checks its certificate, too
            self.count(shown, address)
            async with self.turn(shown):
                yield
            self._known.add(shown.both)

    @contextmanager
    def recognised(self, shown: Shown, address: str) -> Iterator[None]:
        """Run a block that checks a device's credential: it counts as a guess of the address, unless it was valid
        before.

        Raises RefusedTooOften where requests with this credential are refused repeatedly, and TooManyRequests.
        """
        if not self._known.was_valid(shown.both):
            with self.guessing(address):
                yield
            return
        current_requester().prove(shown.both)
        current_requester().check()
        try:
            yield
        except CoterieError as error:
            if error.kind is ErrorKind.UNAUTHENTICATED:
                self._known.discard(shown.both)
            raise

    async def find_device(self, shown: Shown) -> Device:
        """The device with this credential; one that is known does not wait behind unknown ones. Raises what `device_of`
        raises.
        """
        thread = in_thread if self._known.was_valid(shown.both) else in_anonymous_thread
        return await thread(lambda: device_of(shown))

    def proven(self, shown: Shown, *, ago_s: float = 0.0) -> None:
        """The credential is valid: its requests no longer count against the address. Raises RefusedTooOften."""
        self._known.add(shown.both, ago_s=ago_s)
        current_requester().prove(shown.both)
        current_requester().check()

    @contextmanager
    def socket(self, device: str, address: str) -> Iterator[None]:
        """Count a device's open socket. Raises TooManySockets."""
        limit = self._limits.sockets_per_device
        if self._sockets.get(device, 0) >= limit:
            LIMIT_LOG.log(address, TooManySockets.code)
            raise TooManySockets(limit=limit, wait_s=60)
        self._sockets[device] = self._sockets.get(device, 0) + 1
        try:
            yield
        finally:
            self._sockets[device] -= 1
            if not self._sockets[device]:
                del self._sockets[device]


GATE = DeviceGate()
"""Of this process."""
