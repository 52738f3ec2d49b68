"""Connections are counted by address, and never more than there are descriptors for."""

import resource
import subprocess
import sys

from coterie.gateway.door.connections import Connections
from coterie.gateway.door.limits import Limits

LIMITS = Limits(connections_per_address=2, reserved_descriptors=5)


def test_who_is_known_leaves_room_for_strangers() -> None:
    connections = Connections(LIMITS, descriptors=100)
    tickets = [connections.enter("a") for _ in range(2)]
    assert connections.refusal("a") == "gateway.too_many_connections"
    assert connections.refusal("b") is None
    tickets[0].prove()
    tickets[0].prove()
    assert connections.refusal("a") is None
    for ticket in tickets:
        ticket.give_back()
        ticket.give_back()
    assert connections.open == 0


def test_some_descriptors_are_kept_for_files() -> None:
    connections = Connections(LIMITS, descriptors=12)
    for number in range(7):
        connections.enter(str(number))
    assert connections.refusal("z") == "gateway.no_room"


def test_trusted_proxies_bring_many() -> None:
    connections = Connections(LIMITS, descriptors=100, exempt={"proxy"})
    for _ in range(5):
        connections.enter("proxy")
    assert connections.refusal("proxy") is None


def test_the_limit_of_files_is_raised_as_far_as_the_system_allows() -> None:
    code = (
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, r.getrlimit(r.RLIMIT_NOFILE)[1]));"
        "from coterie.gateway.door.connections import raise_descriptor_limit as f; n = f();"
        "assert r.getrlimit(r.RLIMIT_NOFILE)[0] == n; print(n)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(told) == resource.getrlimit(resource.RLIMIT_NOFILE)[1]
