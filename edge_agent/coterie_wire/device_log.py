"""A device's log, which an operator requests and the device sends where its owner allows it."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message

LONGEST_HOURS = 168
MAX_LINES = 2_000
"""Most lines of one delivery; older lines are left out."""
MAX_TEXT = 500
"""Most characters of a line."""
MAX_LOG_BYTES = 512 << 10
"""Most bytes of a delivery's lines as JSON."""
MAX_WHY = 200
"""Most characters of an operator's stated purpose."""
LogLevel = Literal["info", "warning", "error"]


class SendsLog(Message, frozen=True):
    """Whether a device can send its log."""

    refuses: Reason | None = None
    """Why the device sends no log to anybody; None: its owner's rule decides about each request."""


class LogAsked(Message, frozen=True):
    """An operator's request for the device's log; it is repeated until the device has sent or refused the log."""

    request: Identifier
    hours: Annotated[int, Meta(ge=1, le=LONGEST_HOURS)]
    """The log covers this many hours up to now."""
    why: Annotated[str, Meta(max_length=MAX_WHY)] = ""
    """The operator's purpose, in the operator's words."""
    keep_days: Count = 0
    """Days for which the platform keeps the log."""


class LogLine(Message, frozen=True):
    """A line of a device's log; secrets and samples have been removed."""

    at: Annotated[float, Meta(ge=0, le=1e11)]
    """Unix time by the device's clock."""
    level: LogLevel
    source: Annotated[str, Meta(max_length=100)]
    """The part of the agent that wrote it."""
    text: Annotated[str, Meta(max_length=MAX_TEXT)]


class ReportLog(Message, frozen=True):
    """The decision of the device's owner about a request for the log."""

    request: Identifier
    outcome: Literal["asking", "allowed", "refused"]
    """``asking``: the owner has not decided yet."""
    reason: Reason


class DeliverLog(Message, frozen=True):
    """The requested lines, oldest first, after the owner has allowed it."""

    request: Identifier
    lines: Annotated[tuple[LogLine, ...], Meta(max_length=MAX_LINES)] = ()
    left_out: Count = 0
    """Number of older lines within the requested hours that are left out because of the limits."""
