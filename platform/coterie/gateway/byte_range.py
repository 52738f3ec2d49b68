"""The ``Range`` header of RFC 9110, section 14, as far as resuming a download needs it: one range of bytes."""

import re
from typing import NamedTuple

from coterie.core.errors import CoterieError, ErrorKind

ONE_RANGE = re.compile(r"bytes=(?P<first>\d{0,18})-(?P<last>\d{0,18})")


class RangeNotSatisfiable(CoterieError):
    """The range begins after the end."""

    code = "gateway.range_not_satisfiable"
    kind = ErrorKind.RANGE
    sentence = "The blob has {size_bytes} bytes; the range starts behind them."


class ByteRange(NamedTuple):
    """Bytes from `start` up to, but not including, `stop`."""

    start: int
    stop: int


def parse_range(header: str | None, size_bytes: int) -> ByteRange | None:
    """The part to send of `size_bytes`; None: all of it, also for headers that the RFC tells to ignore.

    Raises RangeNotSatisfiable.
    """
    match = ONE_RANGE.fullmatch((header or "").replace(" ", ""))
    if match is None or not (match["first"] or match["last"]):
        return None
    if not match["first"]:
        wanted = ByteRange(max(0, size_bytes - int(match["last"])), size_bytes)
    else:
        last = int(match["last"]) if match["last"] else size_bytes - 1
        wanted = ByteRange(int(match["first"]), min(last + 1, size_bytes))
        if match["last"] and last < wanted.start:
            return None
    if wanted.start >= wanted.stop:
        raise RangeNotSatisfiable(size_bytes=size_bytes)
    return wanted
