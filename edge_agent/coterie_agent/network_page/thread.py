"""The thread that serves the page at the device's current address, which may change or come later."""

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
REFRESH_S = 15.0
"""Seconds between two checks of the device's address."""


class PageStatus(msgspec.Struct, frozen=True):
    """The status that the running agent writes for ``coterie-agent page``."""

    authority: str = ""
    """``HOST:PORT`` at which the page is served; blank: it is not served."""
    fingerprint: str = ""
    """SHA-256 of its certificate."""
    code: str = ""
    """Code of the error if it is not served."""
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
    """Serves the page; errors are reported and retried, as the agent also works without the page."""

    home: Home
    find: Callable[[], PageAddress]
    """Returns the page's current address. Raises AgentError."""
    phones: PhoneStore
    site: Site
    situation: Situation
    period_s: float = REFRESH_S
    _served: _Served | None = field(default=None, init=False)
    _published: PageStatus | None = field(default=None, init=False)

    def run(self) -> None:
        """Serve until the situation's `stop` is set."""
        while not self.situation.now.stopping:
            self._refresh()
            self.situation.wait_for_stop(self.period_s)
        self._close()
        self.home.network_page.unlink(missing_ok=True)

    def _refresh(self) -> None:
        try:
            check_installed()
            address = self.find()
            certificate = page_certificate(self.home.page_certificate, address.host, datetime.now(UTC))
            if self._served is None or (self._served.address, self._served.certificate) != (address, certificate):
                self._close()
                self._open(address, certificate)
            self._publish(PageStatus(address.authority, certificate.fingerprint))
        except AgentError as error:
            self._close()
            self._publish(PageStatus(code=error.code, detail=error.detail))

    def _open(self, address: PageAddress, certificate: PageCertificate) -> None:
        server = PageServer(self.site, PageAccess(address=address, phones=self.phones), certificate)
        threading.Thread(target=server.run, name="network-page-server", daemon=True).start()
        self._served = _Served(address, certificate, server)

    def _close(self) -> None:
        if self._served is not None:
            self._served.close()
            self._served = None

    def _publish(self, status: PageStatus) -> None:
        if status == self._published:
            return
        self._published = status
        if status.authority:
            log.info("the owner's page is on the network: https://%s", status.authority)
        else:
            log.warning("the owner's page is not on the network: %s [%s]", status.detail, status.code)
        with suppress(OSError):  # a full disk: the page is served nevertheless
            write_private(self.home.network_page, msgspec.json.encode(status))
