"""Authenticates the operator of a request by its headers, for decisions before Django reads the request."""

from collections.abc import Mapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils import timezone

from coterie.accounts.browsers import live_session
from coterie.accounts.models import Operator
from coterie.accounts.roles import actor_of
from coterie.accounts.selectors import live_token
from coterie.core.acting import Actor, NobodyActs
from coterie.gateway.http import bearer

SESSIONS = import_module(settings.SESSION_ENGINE)


def operator_behind(headers: Mapping[str, str]) -> Actor:
    """The operator, or their token, from header or cookie. Raises ApiTokenInvalid, CredentialMissing or NobodyActs."""
    if "authorization" in headers:
        token = live_token(bearer(headers["authorization"]), now=timezone.now())
        return actor_of(token.operator, token)
    operator, session = _signed_in(headers.get("cookie", ""))
    return actor_of(operator, session=session)


def cookies_of(header: str) -> SimpleCookie:
    """The cookies of a request; malformed ones are skipped."""
    jar: SimpleCookie = SimpleCookie()
    with suppress(CookieError):
        jar.load(header)
    return jar


def _signed_in(cookies: str) -> tuple[Operator, SessionBase]:
    jar = cookies_of(cookies)
    if settings.SESSION_COOKIE_NAME not in jar:
        raise NobodyActs
    request = HttpRequest()
    request.session = SESSIONS.SessionStore(jar[settings.SESSION_COOKIE_NAME].value)
    operator = get_user(request)
    if not isinstance(operator, Operator) or live_session(operator, request.session) is None:
        raise NobodyActs
    return operator, request.session
