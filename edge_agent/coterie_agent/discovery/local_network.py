"""DNS service discovery over multicast (RFC 6762, RFC 6763): announces this device, and finds others.

An announcement holds a public key, a port and the addresses of this machine, and no name of the device, its owner or
its host. Every machine on the network receives it, and can recognise the key. Announcements are not trusted: the
device is asked for its signed record.
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
"""Addresses of one device that are tried."""


def own_addresses() -> Sequence[str]:
    """The addresses of this machine in its networks, IPv4 and IPv6; link-local ones with the interface's name."""
    families = (socket.AF_INET, socket.AF_INET6)
    found = {one.address for all_ in psutil.net_if_addrs().values() for one in all_ if one.family in families}
    return sorted(one for one in found if not ip_address(one.partition("%")[0]).is_loopback)


def on_links(host: str) -> Sequence[str]:
    """`host` as connectable addresses: a link-local IPv6 address without a zone (RFC 4007) is tried on every link."""
    address = ip_address(host.partition("%")[0])
    if address.version == 4 or not address.is_link_local or "%" in host:
        return (host,)
    links = {one.partition("%")[2] for one in own_addresses() if "%" in one}
    return [f"{host}%{link}" for link in sorted(links)]


@dataclass
class LocalNetwork:
    """Finds devices on the local network, and announces this one where the owner allows it."""

    book: AddressBook
    announced: Callable[[], str | None]
    """Current ``HOST:PORT`` to announce; None: the device only listens."""
    record_sent: Callable[[str, int], None]
    """Called when an announcement begins; repeated answers to others' queries are not counted."""
    interfaces: tuple[str, ...] = ()
    """Addresses of this machine to use; empty: all its networks, by IPv4 and IPv6."""
    _zeroconf: "Zeroconf | None" = field(default=None, init=False)
    _seen: tuple[str | None, Sequence[str]] = field(default=(None, ()), init=False)
    """The announced address and the addresses of this machine when it was started."""

    def start(self) -> None:
        """Start to announce and listen. Raises AgentError ``discovery.no_zeroconf`` or ``discovery.no_multicast``."""
        try:
            from zeroconf import InterfaceChoice, IPVersion, ServiceBrowser, Zeroconf
        except ImportError as error:
            detail = "looking on the local network needs zeroconf: pip install 'coterie-agent[mdns]'"
            message = f"{detail}, or take local_network = false in agent.toml, [discovery]"
            raise AgentError("discovery.no_zeroconf", message, exit_code=Exit.BAD_CONFIG) from error
        logging.getLogger("zeroconf").setLevel(logging.ERROR)  # it warns, with tracebacks, of each network that is away
        announced = self.announced()
        self._seen = (announced, own_addresses())
        families = IPVersion.All if socket.has_dualstack_ipv6() else IPVersion.V4Only
        try:
            if self.interfaces:
                self._zeroconf = Zeroconf(interfaces=list(self.interfaces))
            else:
                self._zeroconf = Zeroconf(interfaces=InterfaceChoice.All, ip_version=families)
        except (OSError, RuntimeError) as error:  # the latter on a machine without any network
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
        """Stop, and withdraw the announcement."""
        if self._zeroconf is not None:
            self._zeroconf.close()
            self._zeroconf = None

    def rescan(self) -> None:
        """Restart if the device's addresses have changed, perhaps in another network."""
        if (self.announced(), own_addresses()) == self._seen:
            return
        self.close()
        try:
            self.start()
        except AgentError as error:  # there may be a network again later
            log.warning("%s [%s]", error.detail, error.code)

    def _note_announced(self, service: "ServiceInfo") -> None:
        """Note a device announced on the local network, to be asked for its record."""
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
        own = {one.partition("%")[0] for one in own_addresses()}
        key = public_key(self.book.secret)
        name = hashlib.sha256(key).hexdigest()[:16]  # host names often reveal the owner
        return ServiceInfo(
            SERVICE,
            f"{name}.{SERVICE}",
            port=port,
            # The service listens at all addresses, unless the owner's settings name another one.
            parsed_addresses=sorted(found | own if found & own else found),
            properties={"v": "1", _KEY.decode(): base64.b64encode(key).decode()},
            server=f"{name}.local.",
        )

    def _changed(self, zeroconf: "Zeroconf", service_type: str, name: str, state_change: "ServiceStateChange") -> None:
        """Handle announcements; removals are ignored, as records expire or are replaced by newer ones."""
        if state_change.name != "Removed":
            service = zeroconf.get_service_info(service_type, name, _ASK_MS)
            if service is not None:
                self._note_announced(service)
