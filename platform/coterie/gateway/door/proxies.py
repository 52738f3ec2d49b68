"""Where a request comes from: only proxies that the operator names may state it for others."""

import logging
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

logger = logging.getLogger(__name__)

FORWARDED_FOR = b"x-forwarded-for"
FORWARDED_PROTO = b"x-forwarded-proto"
Network = IPv4Network | IPv6Network


class Origin(NamedTuple):
    """Where a request comes from."""

    address: str
    scheme: str


class Proxies:
    """The networks of trusted proxies; ``address in proxies`` tells whether an address belongs to one."""

    def __init__(self, networks: Sequence[str] = (), *, https_outside: bool = False) -> None:
        self._networks: tuple[Network, ...] = tuple(ip_network(network) for network in networks)
        self._https_outside = https_outside
        """Proxies that send no scheme are taken to speak https to the outside."""
        self._warned = False

    def __contains__(self, address: object) -> bool:
        return _is_within(str(address), self._networks)

    def origin(self, peer: str, scheme: str, headers: Mapping[bytes, bytes]) -> Origin:
        """The origin of a request from `peer`: stated by a trusted proxy, else that of the connection itself."""
        if peer not in self:
            if FORWARDED_FOR in headers and not self._warned:
                self._warned = True
                logger.warning(
                    "%s forwards requests but is no trusted proxy, so all of them count as its own; "
                    "if it is your proxy, name it in COTERIE_TRUSTED_PROXIES",
                    peer,
                )
            return Origin(peer, scheme)
        address = peer
        # Each proxy appends its client at the right; everything left of the first untrusted address may be forged.
        for hop in reversed(headers.get(FORWARDED_FOR, b"").decode("latin-1").split(",")):
            if not _is_address(hop.strip()):
                break
            address = hop.strip()
            if address not in self:
                break
        proto = headers.get(FORWARDED_PROTO, b"").decode("latin-1").rpartition(",")[2].strip().lower()
        if proto not in ("http", "https"):
            proto = "https" if self._https_outside else scheme
        return Origin(address, proto)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_within(text: str, networks: Sequence[Network]) -> bool:
    if not networks or not _is_address(text):
        return False
    address = ip_address(text)
    plain = getattr(address, "ipv4_mapped", None) or address  # an IPv4 address, as a dual-stack socket shows it
    return any(plain in network for network in networks)
