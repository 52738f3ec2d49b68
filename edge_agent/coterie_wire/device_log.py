"""A device's log, asked for by an operator and sent where the device's owner allows it."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message

LONGEST_HOURS = 168
MAX_LINES = 2_000
"""Of one delivery; older ones are left out."""
MAX_TEXT = 500
"""Characters of a line."""
MAX_LOG_BYTES = 512 << 10
"""Of the lines of a delivery, as JSON."""
MAX_WHY = 200
LogLevel = Literal["info", "warning", "error"]


class SendsLog(Message, frozen=True):
    """Whether a device can send its log."""

    refuses: Reason | None = None
    """Why it sends none, whoever asks; None: its owner's rule decides about each request."""


class LogAsked(Message, frozen=True):
    """An operator asks for the log of the device, until the device has sent or refused it."""

    request: Identifier
    hours: Annotated[int, Meta(ge=1, le=LONGEST_HOURS)]
    """Only lines of the last so many hours."""
    why: Annotated[str, Meta(max_length=MAX_WHY)] = ""
    """What the operator wants it for."""
    keep_days: Count = 0
    """For how long the platform keeps what is sent."""


class LogLine(Message, frozen=True):
    """A line of a device's log, without secrets and samples."""

    at: Annotated[float, Meta(ge=0, le=1e11)]
    """Unix time by the device's clock."""
    level: LogLevel
    source: Annotated[str, Meta(max_length=100)]
    """The part of the agent that wrote it."""
    text: Annotated[str, Meta(max_length=MAX_TEXT)]


class ReportLog(Message, frozen=True):
    """What the device's owner says to a request for its log."""

    request: Identifier
    outcome: Literal["asking", "allowed", "refused"]
    """``asking``: the owner has not said anything yet."""
    reason: Reason


class DeliverLog(Message, frozen=True):
    """The lines that were asked for and allowed, oldest first."""

    request: Identifier
    lines: Annotated[tuple[LogLine, ...], Meta(max_length=MAX_LINES)] = ()
    left_out: Count = 0
    """Older lines of the hours that were asked for, which the bounds leave out."""
