"""Connects to a device that has several addresses: to whichever is there first (RFC 8305, without its DNS)."""

import errno
import os
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from itertools import zip_longest

from coterie_agent.device import host_and_port, with_port

STAGGER_S = 0.25
"""After so long without an answer the next one is tried, too (§5)."""
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", errno.EWOULDBLOCK))


def in_order(addresses: Sequence[str]) -> list[str]:
    """``HOST:PORT`` as they are tried: both families in turn, IPv6 first (§4); those of one link last.

    A name of a host becomes all addresses that it has. Raises OSError where it has none.
    """
    families: tuple[list[str], list[str], list[str]] = ([], [], [])
    for address in dict.fromkeys(number for one in addresses for number in _numbers(one)):
        found = ip_address(host_and_port(address)[0].partition("%")[0])
        families[2 if found.is_link_local else 0 if found.version == 6 else 1].append(address)
    wide = [one for pair in zip_longest(*families[:2]) for one in pair if one is not None]
    return wide + families[2]


def connect_first(addresses: Sequence[str], *, within_s: float) -> tuple[socket.socket, str]:
    """A connection, and to which of `addresses` it is: each has so many seconds.

    Raises OSError, of the last that failed, where there is none.
    """
    waiting, failure = list(addresses), OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
    with selectors.DefaultSelector() as selector:
        try:
            next_at = time.monotonic()
            while True:
                now = time.monotonic()
                if waiting and (now >= next_at or not selector.get_map()):
                    address, next_at = waiting.pop(0), now + STAGGER_S
                    try:
                        selector.register(_begun(address), selectors.EVENT_WRITE, (address, now + within_s))
                    except OSError as error:
                        failure, next_at = error, now
                    continue
                under_way = list(selector.get_map().values())
                if not under_way:
                    raise failure
                ends = min(key.data[1] for key in under_way)
                for key, _ in selector.select(max(0.0, min(ends, next_at) - now if waiting else ends - now)):
                    way = key.fileobj
                    assert isinstance(way, socket.socket)
                    code = way.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    selector.unregister(way)
                    if code == 0:
                        way.settimeout(within_s)
                        return way, key.data[0]
                    way.close()
                    failure, next_at = OSError(code, os.strerror(code)), time.monotonic()
                for key in under_way:
                    if key.data[1] <= time.monotonic() and key.fd in selector.get_map():
                        selector.unregister(key.fileobj)
                        _close(key)
                        failure = TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        finally:
            for key in list(selector.get_map().values()):
                _close(key)


def _numbers(address: str) -> list[str]:
    host, port = host_and_port(address)
    if ":" in host:
        return [address]
    return [with_port(str(there[0]), port) for *_, there in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _begun(address: str) -> socket.socket:
    host, port = host_and_port(address)
    family, kind, protocol, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    way = socket.socket(family, kind, protocol)
    way.setblocking(False)
    code = way.connect_ex(there)
    if code not in (0, *_UNDER_WAY):
        way.close()
        raise OSError(code, os.strerror(code))
    return way


def _close(key: selectors.SelectorKey) -> None:
    with suppress(OSError):
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()
