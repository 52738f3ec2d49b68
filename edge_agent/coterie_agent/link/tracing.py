"""The header that connects this device's requests with the platform's traces (W3C Trace Context, level 1)."""

import hashlib
import secrets
from collections.abc import Callable
from typing import TypeAlias

TraceHeader: TypeAlias = Callable[[], str]


def trace_header(topic: Callable[[], str]) -> TraceHeader:
    """A function that computes the value of each request's ``traceparent``.

    Requests of one `topic` (an assignment) share a trace id, by a key of this process; one without gets its own.
    """
    key = secrets.token_bytes(32)

    def header() -> str:
        about = topic()
        trace = hashlib.blake2b(about.encode(), key=key, digest_size=16).hexdigest() if about else secrets.token_hex(16)
        return f"00-{trace}-{secrets.token_hex(8)}-01"

    return header
