"""What a log line is about: set where a request or a task begins, and told by every line until it ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default={})  # noqa: B039 - never changed in place


def about() -> Mapping[str, str]:
    """As ``request_id``, ``task``, ``round`` and the like."""
    return _context.get()


@contextmanager
def logging_about(**facts: str) -> Iterator[None]:
    """Lines in the block tell these, too."""
    token = _context.set({**_context.get(), **facts})
    try:
        yield
    finally:
        _context.reset(token)
