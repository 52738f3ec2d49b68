"""Signing in with name and password, in a form or by HTTP: wrong attempts are limited by address."""

from contextlib import suppress
from ipaddress import ip_address, ip_network

from django.contrib.auth.backends import ModelBackend
from django.core.cache import cache
from django.http import HttpRequest

from coterie.accounts.models import Operator
from coterie.core.counting import count_up
from coterie.core.errors import CoterieError, ErrorKind

WRONG_ALLOWED = 10
WINDOW_S = 300
"""After so many seconds an address begins anew."""
IPV6_PREFIX = 64
"""One subscriber has so many bits of an address; the rest are theirs to choose."""

CAME_BY_LINK = "came_by_link"
"""In a session that a sign-in link began: who has forgotten a password chooses another without it."""


class TooManyAttempts(CoterieError):
    """Fields: wait_s (at most)."""

    code = "accounts.too_many_attempts"
    kind = ErrorKind.THROTTLED
    sentence = "Too many wrong passwords came from your address; wait {wait_s} seconds and try again."


class PasswordBackend(ModelBackend):
    """Checks passwords for forms and HTTP basic authentication alike, a few wrong ones an address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: object
    ) -> Operator | None:
        """The operator, or None. Raises TooManyAttempts."""
        key = f"password-attempts:{_origin(request)}"
        # An attempt counts until it has succeeded, or many at once would all get in before the first has failed.
        if count_up(key, within_s=WINDOW_S) > WRONG_ALLOWED:
            raise TooManyAttempts(wait_s=WINDOW_S)
        operator = super().authenticate(request, username=username, password=password, **kwargs)
        if operator is not None:
            with suppress(ValueError):  # the window has ended meanwhile
                cache.decr(key)
        return operator


def _origin(request: HttpRequest | None) -> str:
    """Who asks: an IPv4 address, or the network of an IPv6 one."""
    address = "" if request is None else request.META.get("REMOTE_ADDR", "")
    try:
        parsed = ip_address(address)
    except ValueError:
        return address  # a socket of this machine has no address
    return str(ip_network((parsed, IPV6_PREFIX), strict=False)) if parsed.version == 6 else address
