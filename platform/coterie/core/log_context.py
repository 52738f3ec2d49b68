"""What a log line is about: set where a request or a task begins, and part of every line until it ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default={})  # noqa: B039 - never changed in place


def about() -> Mapping[str, str]:
    """The current fields: ``request_id``, ``task``, ``round`` and the like."""
    return _context.get()


@contextmanager
def logging_about(**facts: str) -> Iterator[None]:
    """Add these fields to lines logged in the block."""
    token = _context.set({**_context.get(), **facts})
    try:
        yield
    finally:
        _context.reset(token)
