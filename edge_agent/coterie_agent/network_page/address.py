"""The address of the page on the local network."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from coterie_agent.config import PageSettings
from coterie_agent.device import with_port
from coterie_agent.errors import AgentError, Exit

_HTTPS = 443


@dataclass(frozen=True)
class PageAddress:
    """The host name that phones use for the device, and the address on which it listens."""

    host: str
    listens: str
    port: int

    @property
    def authority(self) -> str:
        """As in requests' Host header: ``HOST:PORT``, without HTTPS's default port."""
        return with_port(self.host, self.port).removesuffix(f":{_HTTPS}")


def page_address(settings: PageSettings, own: Callable[[], str]) -> PageAddress:
    """The address to serve the page at; `own`: returns the device's address towards the platform.

    Raises AgentError ``page.no_address`` or ``page.public_address``, and what `own` raises.
    """
    named = _address(settings.address)
    listens = named or ip_address(own())
    if named is None and listens.is_loopback:
        detail = "the platform is on this device, so that its address on the network is not known by the way there"
        raise AgentError("page.no_address", f"{detail}; name it in agent.toml, [page]", exit_code=Exit.BAD_CONFIG)
    if listens.is_unspecified or not is_local(listens):
        detail = f"{listens} is no address of a local network, and the page is served on no other"
        raise AgentError("page.public_address", f"{detail}; name one in agent.toml, [page]", exit_code=Exit.BAD_CONFIG)
    return PageAddress((settings.address or str(listens)).lower(), str(listens), settings.port)


def is_local(address: IPv4Address | IPv6Address) -> bool:
    """Whether it cannot be reached from the internet."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return is_local(address.ipv4_mapped)
    return not address.is_global and not address.is_multicast


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The IP address; None: `host` is a name, or blank."""
    try:
        return ip_address(host)
    except ValueError:
        return None
