"""Devices of a network that has no IPv4: their doors and direct paths."""

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_agent.device import own_address, with_port
from coterie_agent.link.neighbour import ask_neighbour
from coterie_agent.peer_server import PeerServer
from tests.coterie_agent.direct.test_paths import CONTENT, Echo, Post
from tests.nat.network import enter, why_not_here

OWN = "fd00:7::1"
pytestmark = pytest.mark.long


@pytest.fixture
def _ipv6_alone() -> Iterator[None]:
    """This thread, and those that it starts, are in a network of their own meanwhile."""
    if why := why_not_here():
        pytest.skip(why)
    name = f"ipv6-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    up = "".join(f"link set {link} up\n" for link in ("lo", "lan", "other"))
    commands = f"link add lan type veth peer other\n{up}address add {OWN}/64 dev lan nodad\n"
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        try:
            subprocess.run(["ip", "-n", name, "-batch", "-"], input=commands.encode(), check=True)
            with Path("/run/netns", name).open("rb") as there:
                enter(there)
            yield
        finally:
            enter(before)
            subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.usefixtures("_ipv6_alone")
def test_a_door_answers_at_the_address_that_its_device_offers() -> None:
    door = PeerServer(0, Echo(), path="/echo")
    threading.Thread(target=door.run, daemon=True).start()
    try:
        address = with_port(own_address(f"http://[{OWN}]:8000"), door.server_port)
        assert address == f"[{OWN}]:{door.server_port}"
        assert ask_neighbour(address, "/echo", b"me\nhere", at_most_bytes=100) == b"me\nhere"
    finally:
        door.shutdown()
        door.server_close()


@pytest.mark.usefixtures("_ipv6_alone")
def test_a_direct_path_comes_about() -> None:
    post = Post()
    try:
        caller, way = post.devices["caller"], post.way("called")
        assert caller.ask(way, "/echo", b"me\n" + CONTENT, at_most_bytes=2 << 20) == b"me\n" + CONTENT
    finally:
        for device in post.devices.values():
            device.close()
