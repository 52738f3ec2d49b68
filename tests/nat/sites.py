"""Sites of devices, each behind one shaped line to where the platform is: namespaces, for root on Linux with `tc`.

::

    device --- router of its site --- (line) --- net

Each device has a namespace of its own; what leaves a site passes its router, which sends so many bits a second (a token
bucket, for this needs no netem).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from tests.nat.network import SERVER, enter

BURST_BYTES = 16 << 10
HEADER_BYTES = 66
"""Of a packet: of Ethernet, of IPv4, and of TCP with its timestamps."""


class Sent(NamedTuple):
    """What has left a site."""

    size_bytes: int
    """With all headers."""
    packets: int

    def since(self, before: "Sent") -> "Sent":
        """What has left it after `before`."""
        return Sent(self.size_bytes - before.size_bytes, self.packets - before.packets)


class Sites:
    """For as long as they are open."""

    def __init__(self, count: int, devices: int, *, uplink_bits_s: int) -> None:
        """`devices` are those of each site."""
        self.names = [f"site-{number}" for number in range(count)]
        self._devices, self._uplink_bits_s = devices, uplink_bits_s
        self._mark = f"sites{os.getpid()}"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._add("net", stack)
            self._ip("net", f"address add {SERVER}/32 dev lo")
            for site in range(len(self.names)):
                self._add(f"r{site}", stack)
                self._connect(site)
                for device in range(self._devices):
                    self._add(f"d{site}-{device}", stack)
                    self._attach(site, device)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def namespace(self, site: int, device: int) -> str:
        return self._space(f"d{site}-{device}")

    @contextmanager
    def in_net(self) -> Iterator[None]:
        """What this thread opens and starts meanwhile is where the platform is."""
        with Path("/proc/thread-self/ns/net").open("rb") as own:
            try:
                with Path("/run/netns", self._space("net")).open("rb") as entry:
                    enter(entry)
                yield
            finally:
                enter(own)

    def sent(self) -> Sequence[Sent]:
        """By site, what has left it so far."""
        return [self._sent_by(self._space(f"r{site}")) for site in range(len(self.names))]

    def _connect(self, site: int) -> None:
        router, net = self._space(f"r{site}"), self._space("net")
        self._run("ip", "link", "add", "outer", "netns", router, "type", "veth", "peer", f"to{site}", "netns", net)
        self._ip("net", f"address add 10.{site + 1}.0.1/24 dev to{site}", f"link set to{site} up")
        self._ip("net", f"route add 10.20.{site}.0/24 via 10.{site + 1}.0.2")
        self._ip(f"r{site}", f"address add 10.{site + 1}.0.2/24 dev outer", "link set outer up")
        self._ip(f"r{site}", f"route add default via 10.{site + 1}.0.1")
        self._ip(f"r{site}", "link add lan type bridge", f"address add 10.20.{site}.1/24 dev lan", "link set lan up")
        shaped = ["rate", f"{self._uplink_bits_s}bit", "burst", str(BURST_BYTES), "latency", "400ms"]
        self._run("tc", "-n", router, "qdisc", "add", "dev", "outer", "root", "tbf", *shaped)

    def _attach(self, site: int, device: int) -> None:
        own, router = self.namespace(site, device), self._space(f"r{site}")
        self._run("ip", "link", "add", "lan", "netns", own, "type", "veth", "peer", f"p{device}", "netns", router)
        self._ip(f"r{site}", f"link set p{device} master lan", f"link set p{device} up")
        name = f"d{site}-{device}"
        self._ip(name, f"address add 10.20.{site}.{device + 10}/24 dev lan", "link set lan up")
        self._ip(name, f"route add default via 10.20.{site}.1")

    def _add(self, name: str, stack: ExitStack) -> None:
        space = self._space(name)
        self._run("ip", "netns", "add", space)
        stack.callback(self._run, "ip", "netns", "del", space)
        self._ip(name, "link set lo up")
        self._run("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv4.ip_forward=1")

    def _ip(self, name: str, *commands: str) -> None:
        self._run("ip", "-n", self._space(name), "-batch", "-", given="\n".join(commands))

    def _space(self, name: str) -> str:
        return f"{self._mark}-{name}"

    @staticmethod
    def _sent_by(router: str) -> Sent:
        told = subprocess.run(
            ["ip", "-n", router, "-j", "-s", "link", "show", "outer"], check=True, capture_output=True
        ).stdout
        counted = msgspec.json.decode(told)[0]["stats64"]["tx"]
        return Sent(counted["bytes"], counted["packets"])

    @staticmethod
    def _run(*command: str, given: str | None = None) -> None:
        subprocess.run(command, check=True, input=None if given is None else given.encode())


def why_no_sites() -> str:
    """Why there can be none here; blank: there can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not installed (Debian: apt-get install iproute2)" if missing else ""
