"""DNS service discovery over multicast (RFC 6762, RFC 6763): says that a device is here, and hears of others.

An announcement holds a public key and a port, and no name of the device, its owner or its host. Whoever is on the
network hears it, and can recognise the key. Nothing that is heard is believed: a device is asked for its record.
"""

import base64
import binascii
import hashlib
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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


@dataclass
class LocalNetwork:
    """What this device hears on the network, and, where it is announced, says there."""

    book: AddressBook
    announced: Callable[[], str | None]
    """``HOST:PORT`` of a door now; None: the device only listens."""
    record_sent: Callable[[str, int], None]
    """Told of an announcement when it begins; how often others ask for it nobody counts."""
    interfaces: tuple[str, ...] = ()
    """Addresses of this machine; empty: all networks that it is in."""
    _zeroconf: "Zeroconf | None" = field(default=None, init=False)

    def start(self) -> None:
        """Raises AgentError ``discovery.no_zeroconf`` or ``discovery.no_multicast``."""
        try:
            from zeroconf import InterfaceChoice, ServiceBrowser, Zeroconf
        except ImportError as error:
            detail = "looking on the local network needs zeroconf: pip install 'coterie-agent[mdns]'"
            message = f"{detail}, or take local_network = false in agent.toml, [discovery]"
            raise AgentError("discovery.no_zeroconf", message, exit_code=Exit.BAD_CONFIG) from error
        try:
            self._zeroconf = Zeroconf(interfaces=list(self.interfaces) or InterfaceChoice.All)
        except OSError as error:
            detail = (
                f"no multicast on this device's networks: {error.strerror}; take local_network = false in agent.toml"
            )
            raise AgentError("discovery.no_multicast", detail, exit_code=Exit.BAD_CONFIG) from error
        announced = self.announced()
        if announced is not None:
            service = self._service(announced)
            self._zeroconf.register_service(service, allow_name_change=True)
            self.record_sent("announcement", len(service.text) + len(service.name) + len(service.server or ""))
        ServiceBrowser(self._zeroconf, SERVICE, handlers=[self._changed])

    def close(self) -> None:
        """Say that the device is here no more."""
        if self._zeroconf is not None:
            self._zeroconf.close()
            self._zeroconf = None

    def start_again(self) -> None:
        """The device has another address, perhaps in another network."""
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
            for address in service.parsed_addresses()[:1]:
                host = f"[{address}]" if ":" in address else address
                self.book.name("local network", key, f"{host}:{service.port}")

    def _service(self, announced: str) -> "ServiceInfo":
        from zeroconf import ServiceInfo

        host, _, port = announced.rpartition(":")
        addresses = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        key = public_key(self.book.secret)
        name = hashlib.sha256(key).hexdigest()[:16]  # names of hosts often tell whose they are
        return ServiceInfo(
            SERVICE,
            f"{name}.{SERVICE}",
            port=int(port),
            parsed_addresses=sorted({str(there[0]).partition("%")[0] for *_, there in addresses}),
            properties={"v": "1", _KEY.decode(): base64.b64encode(key).decode()},
            server=f"{name}.local.",
        )

    def _changed(self, zeroconf: "Zeroconf", service_type: str, name: str, state_change: "ServiceStateChange") -> None:
        """What goes is passed over: its record ends by itself, or others say where the device is now."""
        if state_change.name != "Removed":
            service = zeroconf.get_service_info(service_type, name, _ASK_MS)
            if service is not None:
                self.hear(service)
