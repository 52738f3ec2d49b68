"""Limits for one device, and for an address that guesses credentials."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from django.conf import settings

from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.selectors import Shown, device_of
from coterie.gateway.door.known import Known
from coterie.gateway.door.limits import LIMITS, Limits
from coterie.gateway.door.rates import Rates, TooManyRequests
from coterie.gateway.door.turns import Turns
from coterie.gateway.threads import in_thread
from coterie_wire.offences import OFFENCES


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
        self._known = Known()
        self._sockets: dict[str, int] = {}

    @contextmanager
    def guessing(self, address: str) -> Iterator[None]:
        """Run a block that checks a secret; a wrong one counts against the address. Raises TooManyRequests."""
        who, limit = f"address {address}", self._limits.guesses_per_minute
        if self._rates.spent(who, per_minute=limit):
            OFFENCES.tell(address, "gateway.too_many_requests")
            self._rates.take(who, per_minute=limit)
        try:
            yield
        except CoterieError as error:
            if error.kind is ErrorKind.UNAUTHENTICATED:
                OFFENCES.tell(address, error.code)
                self._rates.take(who, per_minute=limit)
            raise

    def count(self, shown: Shown, address: str) -> None:
        """Count one request of a device. Raises TooManyRequests."""
        limit = settings.DEVICE_REQUESTS_PER_MINUTE
        try:
            self._rates.take(hash_secret(shown.both), per_minute=limit)
        except TooManyRequests as error:
            OFFENCES.tell(address, error.code)
            raise TooManyRequests(who="this device", limit=limit, wait_s=error.fields["wait_s"]) from None

    @asynccontextmanager
    async def turn(self, shown: Shown) -> AsyncIterator[None]:
        """Answer at most so many requests of a device at the same time; some more wait. Raises TooManyWaiting."""
        async with self._turns.turn(hash_secret(shown.both)):
            yield

    @asynccontextmanager
    async def admitted(self, shown: Shown, address: str, *, body_bytes: int | None) -> AsyncIterator[None]:
        """Answer a request of a device, in its turn, in the block; `body_bytes` is None where it is not declared.

        A credential that was good a moment ago is not looked up before the answer does, nor for a body that anybody may
        send. Raises TooManyRequests, TooManyWaiting and what `device_of` raises.
        """
        with nullcontext() if shown.both in self._known else self.guessing(address):
            if shown.both not in self._known and (body_bytes is None or body_bytes > self._limits.body_bytes):
                await in_thread(lambda: device_of(shown))
            self.count(shown, address)
            async with self.turn(shown):
                yield
        self._known.add(shown.both)

    @contextmanager
    def socket(self, device: str, address: str) -> Iterator[None]:
        """Count a device's open socket. Raises TooManySockets."""
        limit = self._limits.sockets_per_device
        if self._sockets.get(device, 0) >= limit:
            OFFENCES.tell(address, TooManySockets.code)
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
