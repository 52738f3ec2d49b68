"""Serves the page over TLS to phones of the local network."""

import secrets
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_agent.bounded_server import BoundedServer, Request
from coterie_agent.errors import AgentError, Exit
from coterie_agent.network_page.address import PageAddress, is_local
from coterie_agent.network_page.certificate import PageCertificate
from coterie_agent.network_page.guesses import Guesses
from coterie_agent.site import RequestError, Site, SiteHandler, decode
from coterie_agent.store.phones import PhoneStore
from coterie_wire.limit_log import LIMIT_LOG

STAYS_S = 30 * 86400.0
"""Seconds that a phone stays signed in."""
MAX_CONNECTIONS = 24
OF_AN_ADDRESS = 8
"""Connections per address: browsers open six."""
READ_S = 15.0
"""Seconds in all for a handshake and a request to arrive."""
HANDSHAKE_S = 5.0
"""Seconds that a handshake may wait for the next byte."""
_KEY_BYTES = 32


class OpenPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /open``: the secret from the fragment of the page's address."""

    secret: Annotated[str, Meta(max_length=100)]


class Opened(msgspec.Struct, frozen=True):
    """The answer to `OpenPage`, with a cookie that scripts cannot read."""

    until: float
    """Unix time until which this phone is signed in."""


@dataclass(kw_only=True)
class PageAccess:
    """Decides which phones may open the page."""

    address: PageAddress
    phones: PhoneStore
    clock: Callable[[], float] = time.time
    guesses: Guesses = field(default_factory=Guesses)

    @property
    def cookie(self) -> str:
        """The cookie's name, with the port, as all ports of a host share cookies. The prefix enforces `Secure`."""
        return f"__Host-coterie-{self.address.port}"

    def open(self, secret: str, caller: str) -> tuple[Opened, str]:
        """Sign a phone in; the answer, and the phone's cookie.

        Raises RequestError ``page.too_many_guesses`` or ``page.used_link``.
        """
        if not self.guesses.may_try(caller):
            LIMIT_LOG.log(caller, "page.too_many_guesses")
            detail = "this address has tried too many links that are not good; wait a minute"
            raise RequestError(HTTPStatus.TOO_MANY_REQUESTS, "page.too_many_guesses", detail)
        now, key = self.clock(), secrets.token_urlsafe(_KEY_BYTES)
        if not self.phones.take(secret, key, now=now, until=now + STAYS_S):
            detail = "the link was used, is too old, or there is a newer one; make another: coterie-agent page"
            raise RequestError(HTTPStatus.FORBIDDEN, "page.used_link", detail)
        self.guesses.forgive(caller)
        cookie = f"{self.cookie}={key}; Max-Age={STAYS_S:.0f}; Path=/; Secure; HttpOnly; SameSite=Strict"
        return Opened(now + STAYS_S), cookie

    def check(self, cookies: str) -> None:
        """Raises RequestError ``page.not_let_in`` where the cookies are not of a signed-in phone."""
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        key = next((value for name, _, value in pairs if name == self.cookie), "")
        if not self.phones.is_signed_in(key, now=self.clock()):
            detail = "this phone was not let in, or no longer is; open the link that this prints: coterie-agent page"
            raise RequestError(HTTPStatus.UNAUTHORIZED, "page.not_let_in", detail)


class PageServer(BoundedServer):
    """Listens on one address of the device; connections over the limit are closed without an answer."""

    read_s = READ_S
    failed = "a request of the page on the network failed"

    def __init__(self, site: Site, access: PageAccess, certificate: PageCertificate) -> None:
        """Raises AgentError ``page.port_taken`` or ``page.no_certificate``."""
        self.bound(MAX_CONNECTIONS, each=OF_AN_ADDRESS)
        self._context = certificate.context()
        where = access.address
        self.address_family = socket.AF_INET6 if ":" in where.listens else socket.AF_INET
        try:
            super().__init__((where.listens, where.port), partial(_Handler, access, site))
        except OSError as error:
            detail = f"{where.listens}, port {where.port}, for the page: {error.strerror}; choose another in agent.toml"
            raise AgentError("page.port_taken", f"{detail}, [page]", exit_code=Exit.BAD_CONFIG) from error

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept a connection; its handshake is done in the request's own thread."""
        request, (host, port, *_) = super().get_request()
        secured = self._context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        return secured, (host.partition("%")[0], port)

    def verify_request(self, request: Request, client_address: tuple[str, int]) -> bool:  # noqa: ARG002
        """Accept only local addresses, even if a router forwards the port from the internet."""
        return is_local(ip_address(client_address[0]))

    def finish_request(self, request: Request, client_address: tuple[str, int]) -> None:
        assert isinstance(request, ssl.SSLSocket), "this is TLS"
        request.settimeout(HANDSHAKE_S)
        request.do_handshake()
        super().finish_request(request, client_address)


class _Handler(SiteHandler):
    def __init__(self, access: PageAccess, site: Site, *connection: object) -> None:
        self._access = access
        super().__init__(site, *connection)

    def check_origin(self) -> None:
        """Raises RequestError ``page.foreign_host`` or ``page.foreign_origin``."""
        authority = self._access.address.authority
        if self.headers.get("Host", "").lower() != authority:
            raise RequestError(HTTPStatus.FORBIDDEN, "page.foreign_host", f"the page is at https://{authority}")
        if self.headers.get("Origin", f"https://{authority}").lower() != f"https://{authority}":
            raise RequestError(HTTPStatus.FORBIDDEN, "page.foreign_origin", "another page asks for this")

    def authorise(self) -> None:
        self._access.check(self.headers.get("Cookie", ""))

    def serve(self) -> None:
        if (self.command, self.path) != ("POST", "/open"):
            super().serve()
            return
        opened, cookie = self._access.open(decode(self.body(), OpenPage).secret, self.client_address[0])
        self.answer(opened, **{"Set-Cookie": cookie})
