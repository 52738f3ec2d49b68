"""DNS service discovery over multicast (RFC 6762, RFC 6763): says that a device is here, and hears of others.

An announcement holds a public key, a port and the addresses of this machine, and no name of the device, its owner or
its host. Whoever is on the network hears it, and can recognise the key. Nothing that is heard is believed: a device is
asked for its record.
"""

import base64
import binascii
import hashlib
import logging
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

import psutil

from coterie_agent.device import host_and_port, with_port
from coterie_agent.discovery.book import AddressBook
from coterie_agent.errors import AgentError, Exit
from coterie_wire.relaying import public_key

if TYPE_CHECKING:
    from zeroconf import ServiceInfo, ServiceStateChange, Zeroconf

log = logging.getLogger(__name__)
SERVICE = "_coterie._tcp.local."
_KEY = b"k"
_ASK_MS = 3000
_KEY_BYTES = 32
_MOST_ADDRESSES = 16
"""Of one device that are tried."""


def addresses_here() -> Sequence[str]:
    """Those of this machine in its networks, of both families; of one link with the name of its interface."""
    families = (socket.AF_INET, socket.AF_INET6)
    found = {one.address for all_ in psutil.net_if_addrs().values() for one in all_ if one.family in families}
    return sorted(one for one in found if not ip_address(one.partition("%")[0]).is_loopback)


def on_links(host: str) -> Sequence[str]:
    """`host` as one can connect to it: an IPv6 address of one link that does not say which (RFC 4007) may be of any."""
    address = ip_address(host.partition("%")[0])
    if address.version == 4 or not address.is_link_local or "%" in host:
        return (host,)
    links = {one.partition("%")[2] for one in addresses_here() if "%" in one}
    return [f"{host}%{link}" for link in sorted(links)]


@dataclass
class LocalNetwork:
    """What this device hears on the network, and, where it is announced, says there."""

    book: AddressBook
    announced: Callable[[], str | None]
    """``HOST:PORT`` of a door now; None: the device only listens."""
    record_sent: Callable[[str, int], None]
    """Told of an announcement when it begins; how often others ask for it nobody counts."""
    interfaces: tuple[str, ...] = ()
    """Addresses of this machine; empty: all networks that it is in, by IPv4 and by IPv6."""
    _zeroconf: "Zeroconf | None" = field(default=None, init=False)
    _seen: tuple[str | None, Sequence[str]] = field(default=(None, ()), init=False)
    """The door and the addresses of this machine when it began."""

    def start(self) -> None:
        """Raises AgentError ``discovery.no_zeroconf`` or ``discovery.no_multicast``."""
        try:
            from zeroconf import InterfaceChoice, IPVersion, ServiceBrowser, Zeroconf
        except ImportError as error:
            detail = "looking on the local network needs zeroconf: pip install 'coterie-agent[mdns]'"
            message = f"{detail}, or take local_network = false in agent.toml, [discovery]"
            raise AgentError("discovery.no_zeroconf", message, exit_code=Exit.BAD_CONFIG) from error
        announced = self.announced()
        self._seen = (announced, addresses_here())
        families = IPVersion.All if socket.has_dualstack_ipv6() else IPVersion.V4Only
        try:
            if self.interfaces:
                self._zeroconf = Zeroconf(interfaces=list(self.interfaces))
            else:
                self._zeroconf = Zeroconf(interfaces=InterfaceChoice.All, ip_version=families)
        except (OSError, RuntimeError) as error:  # the latter of a machine without any network
            detail = f"no multicast on this device's networks: {error}; take local_network = false in agent.toml"
            raise AgentError("discovery.no_multicast", detail, exit_code=Exit.BAD_CONFIG) from error
        if announced is not None:
            service = self._service(announced)
            self._zeroconf.register_service(service, allow_name_change=True)
            addresses = b"".join(service.addresses_by_version(IPVersion.All))
            size_bytes = len(service.text) + len(service.name) + len(service.server or "") + len(addresses)
            self.record_sent("announcement", size_bytes)
        ServiceBrowser(self._zeroconf, SERVICE, handlers=[self._changed])

    def close(self) -> None:
        """Say that the device is here no more."""
        if self._zeroconf is not None:
            self._zeroconf.close()
            self._zeroconf = None

    def look_around(self) -> None:
        """Begin anew where the device has other addresses than before, perhaps in another network."""
        if (self.announced(), addresses_here()) == self._seen:
            return
        self.close()
        try:
            self.start()
        except AgentError as error:  # there may be a network again later
            log.warning("%s [%s]", error.detail, error.code)

    def hear(self, service: "ServiceInfo") -> None:
        """Somebody announces a device: it is to be asked."""
        try:
            key = base64.b64decode(service.properties.get(_KEY) or b"", validate=True)
        except binascii.Error:
            return
        if len(key) == _KEY_BYTES and key != public_key(self.book.secret):
            hosts = [one for host in service.parsed_scoped_addresses() for one in on_links(host)][:_MOST_ADDRESSES]
            if hosts and service.port:
                self.book.name("local network", key, *sorted(with_port(host, service.port) for host in hosts))

    def _service(self, announced: str) -> "ServiceInfo":
        from zeroconf import ServiceInfo

        host, port = host_and_port(announced)
        found = {str(there[0]).partition("%")[0] for *_, there in socket.getaddrinfo(host, port)}
        here = {one.partition("%")[0] for one in addresses_here()}
        key = public_key(self.book.secret)
        name = hashlib.sha256(key).hexdigest()[:16]  # names of hosts often tell whose they are
        return ServiceInfo(
            SERVICE,
            f"{name}.{SERVICE}",
            port=port,
            # A door is open at all addresses; where its owner names another one, that is meant.
            parsed_addresses=sorted(found | here if found & here else found),
            properties={"v": "1", _KEY.decode(): base64.b64encode(key).decode()},
            server=f"{name}.local.",
        )

    def _changed(self, zeroconf: "Zeroconf", service_type: str, name: str, state_change: "ServiceStateChange") -> None:
        """What goes is passed over: its record ends by itself, or others say where the device is now."""
        if state_change.name != "Removed":
            service = zeroconf.get_service_info(service_type, name, _ASK_MS)
            if service is not None:
                self.hear(service)
