"""Counts open connections, by address, and decides whether there is room for another one."""

import resource
from collections import Counter
from collections.abc import Container

from coterie.gateway.door.limits import Limits


def raise_descriptor_limit() -> int:
    """Raise this process's limit of open files to the system's maximum; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Connections:
    """Open connections of one server. Used on the event loop's thread only."""

    def __init__(self, limits: Limits, *, descriptors: int, exempt: Container[str] = ()) -> None:
        self._per_address = limits.connections_per_address
        self._room = descriptors - min(limits.reserved_descriptors, descriptors // 2)
        self._exempt = exempt
        self._open = 0
        self._anonymous: Counter[str] = Counter()

    def refusal(self, address: str) -> str | None:
        """The code of the reason to refuse another connection of `address`; None: there is room."""
        if self._open >= self._room:
            return "gateway.no_room"
        if address not in self._exempt and self._anonymous[address] >= self._per_address:
            return "gateway.too_many_connections"
        return None

    def enter(self, address: str) -> "CountedConnection":
        """Count a connection until its `give_back` is called."""
        self._open += 1
        self._anonymous[address] += 1
        return CountedConnection(self, address)

    def mark_authenticated(self, address: str) -> None:
        """A connection of `address` has authenticated, and no longer counts against the address."""
        self._anonymous[address] -= 1
        if not self._anonymous[address]:
            del self._anonymous[address]

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open

    def remove_one(self) -> None:
        """Count one connection less."""
        self._open -= 1


class CountedConnection:
    """One counted connection."""

    def __init__(self, connections: Connections, address: str) -> None:
        self._connections = connections
        self._address = address
        self._is_anonymous = self._inside = True

    def prove(self) -> None:
        """The client has presented a valid credential: its connection no longer counts against its address."""
        if self._is_anonymous:
            self._is_anonymous = False
            self._connections.mark_authenticated(self._address)

    def give_back(self) -> None:
        """The connection has ended."""
        self.prove()
        if self._inside:
            self._inside = False
            self._connections.remove_one()
