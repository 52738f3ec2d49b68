"""What the owner's page shows of requests for the log, and what the owner says there."""

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_agent.config import LogSettings
from coterie_agent.site import RequestError
from coterie_agent.store.log_requests import LogRequest, LogRequestStore

_SHOWN = 5


class LogsView(msgspec.Struct, frozen=True):
    """Who may have the log, who asks for it, and what was sent."""

    send: Literal["never", "ask", "always"]
    """As agent.toml says."""
    asked: LogRequest | None
    """The request that is open; None: nobody asks."""
    ended: tuple[LogRequest, ...]
    """The latest others, newest first."""


class SayOnLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /logs``: the owner's word on one request."""

    request: Annotated[str, Meta(max_length=64)]
    say: Literal["allow", "refuse"]


def logs_view(settings: LogSettings, store: LogRequestStore) -> LogsView:
    """As things stand."""
    requests = store.requests()
    asked = next((one for one in requests if one.outcome == "open"), None)
    return LogsView(settings.send, asked, tuple(one for one in requests if one.outcome != "open")[:_SHOWN])


def hear_on_log(store: LogRequestStore, said: SayOnLog) -> None:
    """Take the owner's word. Raises RequestError ``logs.not_asked``."""
    if not store.say(said.request, "allowed" if said.say == "allow" else "refused"):
        detail = "nobody asks for this log any more; load the page again"
        raise RequestError(HTTPStatus.CONFLICT, "logs.not_asked", detail)
