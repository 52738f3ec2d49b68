"""How many connections there are, by address, and whether there is room for another one."""

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
    """Open connections of one server. Used on the event loop's thread alone."""

    def __init__(self, limits: Limits, *, descriptors: int, exempt: Container[str] = ()) -> None:
        self._per_address = limits.connections_per_address
        self._room = descriptors - min(limits.reserved_descriptors, descriptors // 2)
        self._exempt = exempt
        self._open = 0
        self._strangers: Counter[str] = Counter()

    def refusal(self, address: str) -> str | None:
        """Why another connection of `address` is refused, as a code; None: there is room."""
        if self._open >= self._room:
            return "gateway.no_room"
        if address not in self._exempt and self._strangers[address] >= self._per_address:
            return "gateway.too_many_connections"
        return None

    def enter(self, address: str) -> "CountedConnection":
        """Count a connection until its ticket is given back."""
        self._open += 1
        self._strangers[address] += 1
        return CountedConnection(self, address)

    def known(self, address: str) -> None:
        """A connection of `address` has authenticated, and no longer counts as unknown."""
        self._strangers[address] -= 1
        if not self._strangers[address]:
            del self._strangers[address]

    @property
    def open(self) -> int:
        """How many there are."""
        return self._open

    def left(self) -> None:
        """One connection less."""
        self._open -= 1


class CountedConnection:
    """One connection's place among those that are counted."""

    def __init__(self, connections: Connections, address: str) -> None:
        self._connections = connections
        self._address = address
        self._stranger = self._inside = True

    def prove(self) -> None:
        """The client has shown a valid credential: its connection no longer counts against its address."""
        if self._stranger:
            self._stranger = False
            self._connections.known(self._address)

    def give_back(self) -> None:
        """The connection has ended."""
        self.prove()
        if self._inside:
            self._inside = False
            self._connections.left()
