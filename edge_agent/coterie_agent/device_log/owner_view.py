"""Requests for the log on the owner's page: what it shows, and the owner's decisions there."""

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_agent.config import LogSettings
from coterie_agent.site import RequestError
from coterie_agent.store.log_requests import LogRequest, LogRequestStore

_SHOWN = 5


class LogsView(msgspec.Struct, frozen=True):
    """The owner's setting, the open request, and former requests."""

    send: Literal["never", "ask", "always"]
    """As set in agent.toml."""
    asked: LogRequest | None
    """The open request; None: there is none."""
    ended: tuple[LogRequest, ...]
    """The latest ended requests, newest first."""


class LogDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /logs``: the owner's decision on one request."""

    request: Annotated[str, Meta(max_length=64)]
    say: Literal["allow", "refuse"]


def logs_view(settings: LogSettings, store: LogRequestStore) -> LogsView:
    """The current view."""
    requests = store.requests()
    asked = next((one for one in requests if one.outcome == "open"), None)
    return LogsView(settings.send, asked, tuple(one for one in requests if one.outcome != "open")[:_SHOWN])


def record_decision(store: LogRequestStore, decision: LogDecision) -> None:
    """Record the owner's decision. Raises RequestError ``logs.not_asked``."""
    if not store.decide(decision.request, "allowed" if decision.say == "allow" else "refused"):
        detail = "nobody asks for this log any more; load the page again"
        raise RequestError(HTTPStatus.CONFLICT, "logs.not_asked", detail)
