"""Two hosts behind a router each, and a network between: namespaces of this machine, for root on Linux with nftables.

::

    host a --- (line) --- router a --- net --- router b --- host b

A router translates addresses as its kind says. A line may delay and lose packets (`tests.nat.line`).
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations_with_replacement
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Self, get_args

from tests.system.processes import ROOT, environment

Nat = Literal["none", "full cone", "address-restricted", "port-restricted", "symmetric"]
Place = Literal["net", "ha", "hb"]
KINDS: Sequence[Nat] = get_args(Nat)
PAIRS: Sequence[tuple[Nat, Nat]] = list(combinations_with_replacement(KINDS, 2))
_UNMEETABLE = {frozenset({"symmetric"}), frozenset({"symmetric", "port-restricted"})}
SERVER = "10.9.0.1"
"""Which all reach."""
_NETWORK = 0x40000000
"""Of ``setns``: CLONE_NEWNET."""
HOSTS: Mapping[str, str] = {"a": "10.11.1.2", "b": "10.11.2.2"}
# What no one inside has asked for is dropped before it takes a place in the table of connections: an unsolicited packet
# would occupy the very port that the answer to a punch is to come through.
_TABLE = """
table ip box {{
    set asked {{ type ipv4_addr; flags dynamic,timeout; timeout 120s; }}
    chain out {{ type nat hook postrouting priority srcnat; {out} }}
    chain in {{ type nat hook prerouting priority dstnat; {into} }}
    chain through {{
        type filter hook forward priority filter;
        iifname "inner" oifname "outer" update @asked {{ ip daddr }}
        ct status dnat accept
        iifname "outer" ct state new drop
    }}
    chain own {{ type filter hook input priority filter; iifname "outer" ct state new drop; }}
}}
"""
_TRANSLATED = 'oifname "outer" masquerade;'
_ALL = 'iifname "outer" udp dport 1024-65535'


class _Rules(NamedTuple):
    out: str
    into: str = ""


_RULES: Mapping[Nat, Callable[[str], _Rules]] = {
    "full cone": lambda host: _Rules(_TRANSLATED, f"{_ALL} dnat to {host};"),
    "address-restricted": lambda host: _Rules(_TRANSLATED, f"{_ALL} ip saddr @asked dnat to {host};"),
    "port-restricted": lambda _: _Rules(_TRANSLATED),
    "symmetric": lambda _: _Rules('oifname "outer" masquerade fully-random;'),
}


def is_meetable(one: Nat, other: Nat) -> bool:
    """Whether theory has the two meet without guessing ports (RFC 5128, §3.3): a symmetric one has a port for each."""
    return frozenset({one, other}) not in _UNMEETABLE


def why_not_here() -> str:
    """Why there can be no such network; blank: there can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "nft") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} not installed (Debian: apt-get install iproute2 nftables)"
    name = f"nat-try-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "this system gives no network namespaces"
    try:
        probe = "table ip t { chain c { type nat hook postrouting priority srcnat; masquerade fully-random; }\n}\n"
        tried = subprocess.run(
            ["ip", "netns", "exec", name, "nft", "-f", "-"], input=probe.encode(), capture_output=True
        )
        return "" if tried.returncode == 0 else "this kernel translates no addresses for nftables"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


class Network:
    """Of two routers, for as long as it is open."""

    def __init__(self, a: Nat, b: Nat, *, delay_ms: float = 0.0, loss: float = 0.0) -> None:
        """`delay_ms` each way and `loss`, a share, are those of the line before host a."""
        self._kinds, self._delay_ms, self._loss = {"a": a, "b": b}, delay_ms, loss
        self._mark = f"nat{os.getpid()}"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ("net", "ra", "rb", "ha", "hb"):
                self._run("ip", "netns", "add", self._space(name))
                stack.callback(self._run, "ip", "netns", "del", self._space(name))
                self._inside(name, "ip", "link", "set", "lo", "up")
                self._inside(name, "sysctl", "-qw", "net.ipv4.ip_forward=1")
            self._inside("net", "ip", "address", "add", f"{SERVER}/32", "dev", "lo")
            for index, side in enumerate("ab", 1):
                self._connect(side, index)
            if self._delay_ms or self._loss:
                self._lengthen(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def inside(self, place: Place) -> Iterator[None]:
        """What this thread opens and starts meanwhile is in that namespace."""
        with Path("/proc/thread-self/ns/net").open("rb") as own:
            try:
                with Path("/run/netns", self._space(place)).open("rb") as entry:
                    enter(entry)
                yield
            finally:
                enter(own)

    def start(self, place: Place, *arguments: str) -> "subprocess.Popen[bytes]":
        """``python -m ARGUMENTS`` in a namespace; ended with the network."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self._space(place), sys.executable, "-m", *arguments],
            stdout=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
        )
        self._stack.callback(_end, process)
        return process

    def _connect(self, side: str, index: int) -> None:
        router, host = f"r{side}", f"h{side}"
        self._link(router, "outer", f"10.{index}.0.2/24", "net", f"to{side}", f"10.{index}.0.1/24")
        self._link(host, "inner", f"{HOSTS[side]}/24", router, "inner", f"10.11.{index}.1/24")
        self._inside(router, "ip", "route", "add", "default", "via", f"10.{index}.0.1")
        self._inside(host, "ip", "route", "add", "default", "via", f"10.11.{index}.1")
        kind = self._kinds[side]
        if kind == "none":
            self._inside("net", "ip", "route", "add", f"10.11.{index}.0/24", "via", f"10.{index}.0.2")
        else:
            rules = _TABLE.format(**_RULES[kind](HOSTS[side])._asdict())
            self._inside(router, "nft", "-f", "-", given=rules)

    def _link(self, one: str, name: str, address: str, other: str, other_name: str, other_address: str) -> None:
        peer = ("peer", "name", other_name, "netns", self._space(other))
        self._run("ip", "link", "add", name, "netns", self._space(one), "type", "veth", *peer)
        for place, interface, its in ((one, name, address), (other, other_name, other_address)):
            self._inside(place, "ip", "address", "add", its, "dev", interface)
            self._inside(place, "ip", "link", "set", interface, "up")

    def _lengthen(self, stack: ExitStack) -> None:
        """Have what host a sends and gets pass the line."""
        arguments = [self._space("ha"), self._space("ra"), str(self._delay_ms), str(self._loss)]
        line = subprocess.Popen(
            [sys.executable, "-m", "tests.nat.line", *arguments], stdout=subprocess.PIPE, env=environment(), cwd=ROOT
        )
        stack.callback(_end, line)
        assert line.stdout is not None
        line.stdout.readline()  # its interfaces are there
        self._inside("ha", "ip", "link", "set", "inner", "down")
        self._inside("ra", "ip", "link", "set", "inner", "down")
        self._inside("ra", "ip", "link", "set", "inner", "name", "unused")
        self._inside("ra", "ip", "link", "set", "line", "name", "inner")
        for place, interface, address in (("ha", "line", f"{HOSTS['a']}/32"), ("ra", "inner", "10.11.1.1/32")):
            self._inside(place, "ip", "address", "flush", "dev", {"ha": "inner", "ra": "unused"}[place])
            self._inside(place, "ip", "address", "add", address, "dev", interface)
            self._inside(place, "ip", "link", "set", interface, "up")
        self._inside("ha", "ip", "route", "add", "default", "dev", "line")
        self._inside("ra", "ip", "route", "add", f"{HOSTS['a']}/32", "dev", "inner")

    def _space(self, name: str) -> str:
        return f"{self._mark}-{name}"

    def _inside(self, place: str, *command: str, given: str | None = None) -> None:
        self._run("ip", "netns", "exec", self._space(place), *command, given=given)

    def _run(self, *command: str, given: str | None = None) -> None:
        subprocess.run(command, check=True, input=None if given is None else given.encode())


def enter(namespace: BinaryIO) -> None:
    """Have this thread be in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace.fileno(), _NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()
