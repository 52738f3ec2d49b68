"""Spans of what this process does, for whoever `config.tracing` sends them to; where nobody is, nothing is made.

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
    """One that has not ended yet."""

    def tell(self, name: str, value: Value) -> None:
        """Add an attribute."""


class Tracer(Protocol):
    """Where spans go."""

    def span(
        self, name: str, *, kind: Kind, parent: str | None, attributes: Mapping[str, Value]
    ) -> AbstractContextManager[Span]:
        """The block, as a part of the running one; `parent`, a ``traceparent``, goes before that."""

    def add(self, name: str, *, began_ns: int, ended_ns: int) -> None:
        """One that another process has timed, as a part of the running one; nanoseconds of Unix time."""

    def traceparent(self) -> str | None:
        """What names the running span to other processes; None: none runs."""


class _Nothing:
    def tell(self, name: str, value: Value) -> None:
        """Nobody hears it."""


_NOTHING = nullcontext(_Nothing())
_tracer: Tracer | None = None


def send_spans_to(tracer: Tracer | None) -> None:
    """From now on; None: nowhere."""
    global _tracer
    _tracer = tracer


def is_traced() -> bool:
    """Whether spans go anywhere."""
    return _tracer is not None


def span(
    name: str, *, kind: Kind = "internal", parent: str | None = None, **attributes: Value
) -> AbstractContextManager[Span]:
    """The block as a span. A `parent` that is no ``traceparent`` is passed over."""
    if _tracer is None:
        return _NOTHING
    known = parent if parent is not None and TRACEPARENT.fullmatch(parent) else None
    return _tracer.span(name, kind=kind, parent=known, attributes=attributes)


def add_span(name: str, *, began_ns: int, ended_ns: int) -> None:
    """A span that has ended elsewhere, in nanoseconds of Unix time."""
    if _tracer is not None:
        _tracer.add(name, began_ns=began_ns, ended_ns=ended_ns)


def traceparent() -> str | None:
    """What names the running span to other processes; None: none runs, or nothing is traced."""
    return None if _tracer is None else _tracer.traceparent()
