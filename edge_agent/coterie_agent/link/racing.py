"""Connects to the first of a device's addresses that answers (RFC 8305, without its DNS)."""

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
"""Seconds without an answer after which the next address is tried, too (§5)."""
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", errno.EWOULDBLOCK))


def in_order(addresses: Sequence[str]) -> list[str]:
    """The addresses ``HOST:PORT`` in the order of tries: both families in turn, IPv6 first (§4); link-local ones last.

    A host name is resolved to all its addresses. Raises OSError where it has none.
    """
    families: tuple[list[str], list[str], list[str]] = ([], [], [])
    for address in dict.fromkeys(number for one in addresses for number in _numbers(one)):
        found = ip_address(host_and_port(address)[0].partition("%")[0])
        families[2 if found.is_link_local else 0 if found.version == 6 else 1].append(address)
    wide = [one for pair in zip_longest(*families[:2]) for one in pair if one is not None]
    return wide + families[2]


def connect_first(addresses: Sequence[str], *, within_s: float) -> tuple[socket.socket, str]:
    """A connection, and which of `addresses` it is to; each has `within_s` seconds.

    Raises the last OSError where none answers.
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
                        selector.register(_start_connecting(address), selectors.EVENT_WRITE, (address, now + within_s))
                    except OSError as error:
                        failure, next_at = error, now
                    continue
                under_way = list(selector.get_map().values())
                if not under_way:
                    raise failure
                ends = min(key.data[1] for key in under_way)
                for key, _ in selector.select(max(0.0, min(ends, next_at) - now if waiting else ends - now)):
                    connection = key.fileobj
                    assert isinstance(connection, socket.socket)
                    code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    selector.unregister(connection)
                    if code == 0:
                        connection.settimeout(within_s)
                        return connection, key.data[0]
                    connection.close()
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
    return [with_port(str(target[0]), port) for *_, target in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _start_connecting(address: str) -> socket.socket:
    host, port = host_and_port(address)
    family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    connection = socket.socket(family, kind, protocol)
    connection.setblocking(False)
    code = connection.connect_ex(target)
    if code not in (0, *_UNDER_WAY):
        connection.close()
        raise OSError(code, os.strerror(code))
    return connection


def _close(key: selectors.SelectorKey) -> None:
    with suppress(OSError):
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()
