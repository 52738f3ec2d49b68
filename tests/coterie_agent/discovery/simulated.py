"""Many devices with the production's tables and look-ups, and a network between them that loses those that are gone."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from operator import eq
from typing import NamedTuple

from coterie_agent.discovery.lookup import Lookup
from coterie_agent.discovery.table import RoutingTable
from coterie_wire.discovery import place_of


class Named(NamedTuple):
    """A device, by its name."""

    name: str
    place: int


class Node:
    """One device."""

    def __init__(self, contact: Named) -> None:
        self.contact = contact
        self.table: RoutingTable[Named] = RoutingTable(contact.place)
        self.is_there = True


class Network:
    """Devices that join one after the other, each by way of one that is there."""

    def __init__(self, count: int, *, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes: dict[int, Node] = {}
        self._joined = 0
        self.join(count)

    def join(self, count: int) -> None:
        """So many more."""
        there = self.there()
        for _ in range(count):
            name = f"device {self._joined}"
            self._joined += 1
            node = Node(Named(name, place_of(name)))
            self.nodes[node.contact.place] = node
            if there:
                node.table.add(self.rng.choice(there).contact)
                self.refresh(node)
            there.append(node)

    def refresh(self, node: Node) -> None:
        """What production does each hour: look for the own place, then for one of each bucket."""
        self.look_up(node, node.contact.place)
        for place in node.table.to_refresh(self.rng):
            self.look_up(node, place)

    def leave(self, share: float) -> None:
        """So many of those that are there are gone at once; nobody is told."""
        for node in self.rng.sample(self.there(), int(share * len(self.there()))):
            node.is_there = False

    def there(self) -> list[Node]:
        """Those that answer."""
        return [node for node in self.nodes.values() if node.is_there]

    def look_up(self, node: Node, target: int, *, is_target: Callable[[Named], bool] | None = None) -> Lookup[Named]:
        """A look-up by `node`, to its end."""
        own = node.contact.place
        lookup = Lookup(target, node.table.nearest(target), own=own, is_target=is_target)
        while asked := lookup.next():
            for contact in asked:
                near = self._ask(contact, node, target)
                if near is None:
                    node.table.missed(contact.place)
                    lookup.failed(contact)
                else:
                    node.table.mark_alive(contact)
                    for found in near:
                        node.table.add(found)
                    lookup.answered(contact, near)
        return lookup

    def _ask(self, contact: Named, by: Node, target: int) -> Sequence[Named] | None:
        asked = self.nodes[contact.place]
        if not asked.is_there:
            return None
        asked.table.mark_alive(by.contact)
        return asked.table.nearest(target)


class Outcome(NamedTuple):
    """Of look-ups."""

    found: float
    """Share."""
    hops: float
    """As a mean."""
    most_hops: int
    asked: float
    """Devices, as a mean."""


def look_ups(network: Network, count: int) -> Outcome:
    """Devices that are there look for others that are there, which they may never have heard of."""
    there = network.there()
    found, hops, asked = 0, [], 0
    for _ in range(count):
        node, sought = network.rng.sample(there, 2)
        lookup = network.look_up(node, sought.contact.place, is_target=partial(eq, sought.contact))
        found += lookup.found is not None
        hops.append(lookup.hops)
        asked += lookup.asked
    return Outcome(found / count, sum(hops) / count, max(hops), asked / count)
