"""Which addresses the platform may call: an operator's URL must not reach into the platform's own network (CWE-918)."""

import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from coterie.webhooks.errors import AddressRefused

PORTS = {"https": 443, "http": 80}
GLOBAL_UNICAST = ip_network("2000::/3")
"""All IPv6 addresses that lead to one machine of the internet (RFC 4291). Outside are also those that hold an IPv4
address which a gateway may translate: ``64:ff9b::/96``, ``::/96`` and ``::ffff:0:0/96``."""
SIX_TO_FOUR = ip_network("2002::/16")
"""Addresses that hold an IPv4 address, which may be a private one (RFC 3056)."""


class Target(NamedTuple):
    """Where a URL leads, looked up once: a name that is looked up again may lead elsewhere."""

    scheme: str
    host: str
    address: str
    port: int
    path: str


def resolve(url: str, *, allowed_hosts: Collection[str]) -> Target:
    """The one address that may be called for `url`.

    It is https and public, unless its host is among `allowed_hosts`. Raises AddressRefused.
    """
    parts = urlsplit(url)
    try:
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError as error:
        raise AddressRefused(url=url, problem=str(error)) from error
    trusted = host in allowed_hosts
    if parts.scheme not in PORTS or not host or parts.username is not None:
        raise AddressRefused(url=url, problem="it is no address of a web server")
    if parts.scheme != "https" and not trusted:
        raise AddressRefused(url=url, problem="it is not https")
    port = port or PORTS[parts.scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(url=url, problem="its host is not known") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not trusted and not all(_is_public(ip_address(address)) for address in addresses):
        raise AddressRefused(url=url, problem="it leads into a private network")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, addresses[0], port, path)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address leads to one machine outside every private network."""
    if isinstance(address, IPv6Address) and (address not in GLOBAL_UNICAST or address in SIX_TO_FOUR):
        return False
    return address.is_global and not address.is_multicast
