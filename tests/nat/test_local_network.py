"""Devices that announce themselves in a network that has no IPv4, each in a network namespace, with a wire between."""

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from coterie_agent.discovery.local_network import LocalNetwork, own_addresses
from coterie_agent.link.failure import Unreachable
from tests.coterie_agent.discovery.devices import Device
from tests.nat.network import enter, why_not_here
from tests.system.eventually import eventually

WITHIN_S = 30.0
OWN = {"a": "fd00:7::1", "b": "fd00:7::2"}
pytestmark = pytest.mark.long


class Wire:
    """Two hosts, and what is between."""

    def __init__(self, addresses: Sequence[str]) -> None:
        """`addresses` are those of both, beside the ones that every link of IPv6 has."""
        self._addresses = addresses

    @contextmanager
    def laid(self) -> Iterator[None]:
        with ExitStack() as stack:
            for side in "ab":
                _run("ip", "netns", "add", self._space(side))
                stack.callback(_run, "ip", "netns", "del", self._space(side))
            ends = [("netns", self._space(side)) for side in "ab"]
            _run("ip", "link", "add", "wire", *ends[0], "type", "veth", "peer", "name", "wire", *ends[1])
            for side in "ab":
                with self.inside(side):
                    _run("sysctl", "-qw", "net.ipv6.conf.wire.accept_dad=0")
                    _run("ip", "link", "set", "wire", "up")
                    if OWN[side] in self._addresses:
                        _run("ip", "address", "add", f"{OWN[side]}/64", "dev", "wire", "nodad")
            yield

    @contextmanager
    def inside(self, side: str) -> Iterator[None]:
        """What this thread opens and starts meanwhile is in that namespace."""
        with Path("/proc/thread-self/ns/net").open("rb") as own:
            try:
                with Path("/run/netns", self._space(side)).open("rb") as there:
                    enter(there)
                yield
            finally:
                enter(own)

    def _space(self, side: str) -> str:
        return f"mdns{os.getpid()}-{side}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


@pytest.mark.parametrize("addresses", [(), tuple(OWN.values())], ids=["addresses of the link alone", "others, too"])
def test_devices_of_a_network_without_ipv4_find_one_another(tmp_path: Path, addresses: tuple[str, ...]) -> None:
    if why := why_not_here():
        pytest.skip(why)
    wire, each = Wire(addresses), 1 + len(addresses) // 2
    with wire.laid(), ExitStack() as stack:
        devices: dict[str, Device] = {}
        for side in "ab":
            with wire.inside(side):
                own = eventually(lambda: found if len(found := own_addresses()) == each else (), within_s=WITHIN_S)
                assert all(":" in one for one in own), "there is no IPv4"
                device = devices[side] = Device(side, tmp_path)
                stack.callback(device.close)
                device.moved_to = f"[{own[0].partition('%')[0]}]:{device.door.server_port}"
                device.seeking.step()
        a, b = devices["a"], devices["b"]
        heard = threading.Event()
        b.book.news = heard.set
        for side, announced in (("a", a.moved_to), ("b", None)):
            with wire.inside(side):
                device = devices[side]
                network = LocalNetwork(device.book, lambda announced=announced: announced, device.record_sent)
                network.start()
                stack.callback(network.close)
        assert heard.wait(WITHIN_S)
        (named,) = b.book.named()
        assert len(named.addresses) == each
        assert named.key == a.key and all(address.startswith("[f") for address in named.addresses)
        with wire.inside("b"):
            b.seeking.step()
            (found,) = b.book.store.neighbours(now=b.now)
            assert (found.device, found.found, found.meetings) == ("a", "local network", a.moved_to)
            reached = []
            for _ in range(3):  # where the platform told, where its record says, and where it has answered
                with suppress(Unreachable), b.book.way_to("a", a.key, "[fd00:9::9]:1", "meetings") as address:
                    b.enquirer.ask(a.key, address, b.book.table.own)
                    reached.append(address)
            assert reached, "it can be called"
