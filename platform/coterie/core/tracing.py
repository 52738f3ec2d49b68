"""Spans of this process's work, exported by `config.tracing`; where that is not configured, none are created.

No span ever names a device, a person or an address.
"""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol

Value = str | int | float | bool
Kind = Literal["server", "producer", "consumer", "internal"]
TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""W3C Trace Context, level 1."""


class Span(Protocol):
    """A span that has not ended yet."""

    def set_attribute(self, name: str, value: Value) -> None:
        """Add an attribute."""


class Tracer(Protocol):
    """Where spans are sent."""

    def span(
        self, name: str, *, kind: Kind, parent: str | None, attributes: Mapping[str, Value]
    ) -> AbstractContextManager[Span]:
        """The block as a child of the running span, or of `parent`, a ``traceparent``, where given."""

    def add(self, name: str, *, began_ns: int, ended_ns: int) -> None:
        """Add a span that another process has timed, as a child of the running one; nanoseconds of Unix time."""

    def traceparent(self) -> str | None:
        """The running span's ``traceparent`` for other processes; None: none runs."""


class _Nothing:
    def set_attribute(self, name: str, value: Value) -> None:
        """No exporter is configured: the attribute is dropped."""


_NOTHING = nullcontext(_Nothing())
_tracer: Tracer | None = None


def send_spans_to(tracer: Tracer | None) -> None:
    """Send spans to `tracer` from now on; None: nowhere."""
    global _tracer
    _tracer = tracer


def is_traced() -> bool:
    """Whether spans are exported."""
    return _tracer is not None


def span(
    name: str, *, kind: Kind = "internal", parent: str | None = None, **attributes: Value
) -> AbstractContextManager[Span]:
    """The block as a span. A `parent` that is not a valid ``traceparent`` is ignored."""
    if _tracer is None:
        return _NOTHING
    known = parent if parent is not None and TRACEPARENT.fullmatch(parent) else None
    return _tracer.span(name, kind=kind, parent=known, attributes=attributes)


def add_span(name: str, *, began_ns: int, ended_ns: int) -> None:
    """Add a span that has ended elsewhere, in nanoseconds of Unix time."""
    if _tracer is not None:
        _tracer.add(name, began_ns=began_ns, ended_ns=ended_ns)


def traceparent() -> str | None:
    """The running span's ``traceparent`` for other processes; None: none runs, or nothing is traced."""
    return None if _tracer is None else _tracer.traceparent()
