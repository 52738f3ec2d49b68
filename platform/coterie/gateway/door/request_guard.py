"""The limits in front of Django: authentication, rate, body size and concurrency."""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import Resolver404, resolve
from rest_framework.parsers import MultiPartParser

from coterie.core.credentials import hash_secret
from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.credentials import cookies_of, operator_behind
from coterie.gateway.door.body import Event, Receive
from coterie.gateway.door.known_secrets import KnownSecrets
from coterie.gateway.door.limits import LIMITS, Limits
from coterie.gateway.door.rates import Rates, TooManyRequests
from coterie.gateway.door.requester import current_requester
from coterie.gateway.door.site_body import COPIES, SiteBody
from coterie.gateway.door.spool import Quota
from coterie.gateway.door.turns import Turns
from coterie.gateway.http import Application, Disconnected, Scope, Send, client_address, reply_with_problem
from coterie.gateway.outage import UNANSWERED, check_database
from coterie.gateway.threads import in_anonymous_thread, in_thread
from coterie_wire.limit_log import LIMIT_LOG

API = "/api/"
PROBES = frozenset({"/healthz", "/readyz"})
"""Health checks are answered, however much else their address sends."""
ADDRESS_TIMES = 4
"""An address's requests a minute, as a multiple of one client's: several people and programs may share it."""
UPLOAD_BYTES = (3 << 30) + (1 << 20)
"""Two programs of the largest size and a loss, and the surrounding form."""
MESSAGE_BYTES = 2 << 20
"""Any other body."""


class UnknownHost(CoterieError):
    """Fields: host."""

    code = "gateway.unknown_host"
    kind = ErrorKind.INVALID
    sentence = (
        "This platform does not answer to the name {host!r}; name it in COTERIE_ALLOWED_HOSTS or COTERIE_PUBLIC_URL."
    )


class RequestGuard:
    """ASGI application that lets requests through to `site`."""

    def __init__(self, site: Application, *, spool: Path, spool_bytes: int, limits: Limits = LIMITS) -> None:
        self._site = site
        self._limits = limits
        self._spool = spool
        self._rates = Rates()
        self._quota = Quota(spool_bytes, spool)
        self._largest_bytes = min(UPLOAD_BYTES, spool_bytes // COPIES)
        self._known = KnownSecrets()
        wait_s = limits.site_wait_s
        self._turns = Turns(each=limits.site_each, all_at_once=limits.site_at_once, wait_s=wait_s)
        self._anonymous = Turns(each=limits.anonymous_each, all_at_once=limits.anonymous_at_once, wait_s=wait_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        address = client_address(scope)
        begun = False

        async def send_on(event: Event) -> None:
            nonlocal begun
            begun = True
            await send(event)

        try:
            await self._admit(scope, receive, send_on, address)
        except Disconnected:
            return
        except CoterieError as error:
            if begun:
                raise
            LIMIT_LOG.log(address, error.code)
            await reply_with_problem(send, error)
        except UNANSWERED as error:  # the first request that finds the database away
            if begun:
                raise
            await reply_with_problem(send, error)

    async def _admit(self, scope: Scope, receive: Receive, send: Send, address: str) -> None:
        limit = ADDRESS_TIMES * settings.REQUESTS_PER_MINUTE
        self._rates.take(f"address {address}", per_minute=limit)
        if not scope["path"].startswith(settings.STATIC_URL):
            check_database()
        headers: Mapping[bytes, bytes] = dict(scope["headers"])
        _check_host(headers)
        secret = await self._recognised(scope["path"], headers, address)
        if scope["path"] not in PROBES:
            current_requester().check()
        body = SiteBody(
            receive,
            declared_bytes=_declared(headers),
            allow=lambda: self._allowed(scope["path"], headers),
            quota=self._quota,
            spool=self._spool,
            limits=self._limits,
        )
        with closing(body):
            await body.read()
            async with self._turns.turn(hash_secret(secret)) if secret else self._anonymous.turn(address):
                if await body.is_abandoned():
                    raise Disconnected
                await self._site(scope, body, send)

    async def _recognised(self, path: str, headers: Mapping[bytes, bytes], address: str) -> str:
        """The secret that authenticates an operator or program; blank: none, or the address has guessed too often.

        Raises RefusedTooOften, and what `operator_behind` raises for an API token.
        """
        secret, requester = _secret(headers), current_requester()
        guesses, limit = f"guesses of {address}", self._limits.guesses_per_minute
        if self._known.was_valid(secret):
            requester.prove(secret)
            requester.check()
        elif not secret or self._rates.spent(guesses, per_minute=limit):
            return ""
        if secret in self._known:
            return secret
        try:
            await (in_thread if self._known.was_valid(secret) else in_anonymous_thread)(
                lambda: operator_behind(_texts(headers))
            )
        except CoterieError as error:
            if self._known.was_valid(secret):
                self._known.discard(secret)
            else:
                with suppress(TooManyRequests):  # other requests have guessed meanwhile
                    self._rates.take(guesses, per_minute=limit)
            if path.startswith(API) and error.kind is ErrorKind.UNAUTHENTICATED and b"authorization" in headers:
                raise
            return ""  # Django answers as to an unauthenticated request
        self._known.add(secret)
        requester.prove(secret)
        return secret

    async def _allowed(self, path: str, headers: Mapping[bytes, bytes]) -> int:
        """Bytes allowed in a body sent to an address. Raises what `operator_behind` raises."""
        await in_thread(lambda: operator_behind(_texts(headers)))
        return self._largest_bytes if _takes_files(path) else MESSAGE_BYTES


def _texts(headers: Mapping[bytes, bytes]) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}


def _secret(headers: Mapping[bytes, bytes]) -> str:
    """The credential in a request's headers; blank: none, or a password, which only Django checks."""
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if authorization:
        return authorization if authorization.lower().startswith("bearer ") else ""
    jar = cookies_of(headers.get(b"cookie", b"").decode("latin-1"))
    return jar[settings.SESSION_COOKIE_NAME].value if settings.SESSION_COOKIE_NAME in jar else ""


def _check_host(headers: Mapping[bytes, bytes]) -> None:
    """Raises UnknownHost."""
    host = headers.get(b"host", b"").decode("latin-1")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        raise UnknownHost(host=host[:100])


def _takes_files(path: str) -> bool:
    try:
        view = getattr(resolve(path).func, "cls", None)
    except Resolver404:
        return False
    return any(issubclass(parser, MultiPartParser) for parser in getattr(view, "parser_classes", ()))


def _declared(headers: Mapping[bytes, bytes]) -> int | None:
    length = headers.get(b"content-length", b"")
    return int(length[:19]) if length.isdigit() else None
