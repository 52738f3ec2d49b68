"""Keeps the page where phones find it: the network may come after the agent, and give it another address."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.home import Home, write_private
from coterie_agent.network_page.address import PageAddress
from coterie_agent.network_page.certificate import PageCertificate, page_certificate
from coterie_agent.network_page.installed import check_installed
from coterie_agent.network_page.server import PageAccess, PageServer
from coterie_agent.site import Site
from coterie_agent.situation import Situation
from coterie_agent.store.phones import PhoneStore

log = logging.getLogger(__name__)
LOOK_S = 15.0
"""Between two looks at the device's address."""


class PageStatus(msgspec.Struct, frozen=True):
    """What the running agent writes for ``coterie-agent page``."""

    authority: str = ""
    """``HOST:PORT`` where the page is served; blank: it is not."""
    fingerprint: str = ""
    """Of its certificate."""
    code: str = ""
    """Why it is not served."""
    detail: str = ""


@dataclass(frozen=True)
class _Served:
    address: PageAddress
    certificate: PageCertificate
    server: PageServer

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass(kw_only=True)
class NetworkPage:
    """What goes wrong is told, and tried again: the agent works without the page, too."""

    home: Home
    find: Callable[[], PageAddress]
    """Where it is to be now. Raises AgentError."""
    phones: PhoneStore
    site: Site
    situation: Situation
    look_every_s: float = LOOK_S
    _served: _Served | None = field(default=None, init=False)
    _told: PageStatus | None = field(default=None, init=False)

    def run(self) -> None:
        """Serve until the situation's `stop` is set."""
        while not self.situation.now.stopping:
            self._look()
            self.situation.wait_for_stop(self.look_every_s)
        self._close()
        self.home.network_page.unlink(missing_ok=True)

    def _look(self) -> None:
        try:
            check_installed()
            address = self.find()
            certificate = page_certificate(self.home.page_certificate, address.host, datetime.now(UTC))
            if self._served is None or (self._served.address, self._served.certificate) != (address, certificate):
                self._close()
                self._open(address, certificate)
            self._tell(PageStatus(address.authority, certificate.fingerprint))
        except AgentError as error:
            self._close()
            self._tell(PageStatus(code=error.code, detail=error.detail))

    def _open(self, address: PageAddress, certificate: PageCertificate) -> None:
        server = PageServer(self.site, PageAccess(address=address, phones=self.phones), certificate)
        threading.Thread(target=server.run, name="network-page-server", daemon=True).start()
        self._served = _Served(address, certificate, server)

    def _close(self) -> None:
        if self._served is not None:
            self._served.close()
            self._served = None

    def _tell(self, standing: PageStatus) -> None:
        if standing == self._told:
            return
        self._told = standing
        if standing.authority:
            log.info("the owner's page is on the network: https://%s", standing.authority)
        else:
            log.warning("the owner's page is not on the network: %s [%s]", standing.detail, standing.code)
        with suppress(OSError):  # a full disk: the page is served nevertheless
            write_private(self.home.network_page, msgspec.json.encode(standing))
