"""Where an operator is signed in: a row for each session of a browser, without which the session has ended."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from coterie.accounts.models import BrowserSession, Operator
from coterie.accounts.roles import actor_of
from coterie.accounts.second_factor import must_have_one
from coterie.audit.recording import audited
from coterie.core.acting import become

IN_SESSION = "browser_session"
"""Key of the row, in the session."""
BY_SECOND_FACTOR = "by_second_factor"
"""In a session that a code, or a provider that asks for what it wants, has begun."""
SEEN_EVERY = timedelta(minutes=1)
LONGEST_BROWSER = 300
"""Characters of what a browser calls itself."""


def begin_browser_session(*, operator: Operator, request: HttpRequest, now: datetime) -> None:
    """Remember that the session was begun, where and by which browser."""
    if request.session.session_key is None:
        request.session.create()
    key = request.session.session_key
    assert key is not None, "it was created"
    BrowserSession.objects.filter(pk=request.session.get(IN_SESSION, 0)).delete()  # signed in again, in its place
    row = BrowserSession.objects.create(
        operator=operator,
        key=key,
        address=request.META.get("REMOTE_ADDR", ""),
        browser=request.META.get("HTTP_USER_AGENT", "")[:LONGEST_BROWSER],
        began_at=now,
        seen_at=now,
    )
    request.session[IN_SESSION] = row.pk


@audited("accounts.end_session", subject="session")
def end_browser_session(*, session: BrowserSession) -> None:
    """End the session wherever it is; its console is told so within seconds."""
    Session.objects.filter(session_key=session.key).delete()
    session.delete()


def forget_old_sessions(*, now: datetime) -> None:
    """Delete the rows of sessions that have expired, and those themselves."""
    BrowserSession.objects.filter(seen_at__lt=now - timedelta(seconds=settings.SESSION_COOKIE_AGE)).delete()
    Session.objects.filter(expire_date__lt=now).delete()


class LiveSessions:
    """Middleware: a session whose row was removed, or that a second factor should have begun, has ended."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, signed out where the session has ended."""
        if isinstance(request.user, Operator):
            row = live_session(request.user, request.session)
            if row is None:
                logout(request)
            else:
                _see(row, request, timezone.now())
                if request.method in SAFE_METHODS:  # writes ask again, and for the CSRF token
                    become(actor_of(request.user, session=request.session))
        return self.get_response(request)


def live_session(operator: Operator, session: SessionBase) -> BrowserSession | None:
    """The row of the operator's session; None: it has ended."""
    if must_have_one(operator) and not session.get(BY_SECOND_FACTOR):
        return None
    return BrowserSession.objects.filter(pk=session.get(IN_SESSION, 0), operator=operator).first()


def _see(row: BrowserSession, request: HttpRequest, now: datetime) -> None:
    """Record that a request came, at most each minute, and the session's key where it has changed."""
    key, address = request.session.session_key, request.META.get("REMOTE_ADDR", "")
    is_recent = timedelta() <= now - row.seen_at < SEEN_EVERY
    if key is not None and ((row.key, row.address) != (key, address) or not is_recent):
        BrowserSession.objects.filter(pk=row.pk).update(key=key, address=address, seen_at=now)
