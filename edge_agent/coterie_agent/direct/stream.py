"""A reliable, ordered stream of bytes in each direction over datagrams that get lost, duplicated and reordered.

Without clock or network: datagrams in, bytes out, datagrams to send, and the time of the next one. Acknowledgements
are selective (as RFC 2018); a segment counts as lost once three that were sent later have arrived (RFC 9002, §6.1.1)
or a timer has expired (RFC 6298). The window grows as in RFC 5681, and shrinks to the line's recent rate times its
shortest round trip (Westwood+, Grieco and Mascolo 2004); a few losses while round trips are as short as ever are
attributed to a radio link, and do not shrink it. A malicious other side can make this side hold at most
`WINDOW_BYTES` of out-of-order content.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SEGMENT_BYTES = 1150
"""Content of a segment; with the headers of this stream, UDP and IPv6 it fits IPv6's minimum MTU of 1280 bytes."""
WINDOW_BYTES = 1 << 20
"""Most bytes in flight."""
FAILS_AFTER_S = 15.0
"""Seconds without an acknowledgement while one is awaited."""
_DATA, _ACK, _CLOSE = 0x44, 0x41, 0x43
"""Their first two bits are 01; those of STUN, which shares the socket, are 00 (RFC 7983)."""
_DATA_HEAD, _ACK_HEAD, _RANGE = struct.Struct("!BQ"), struct.Struct("!BQ"), struct.Struct("!QI")
_MOST_RANGES = 32
"""Ranges in one acknowledgement."""
_FIRST_WINDOW = 10 * SEGMENT_BYTES
"""RFC 6928."""
_LEAST_WINDOW = 2 * SEGMENT_BYTES
_SHRINKS_TO = 0.5
"""Smallest factor by which the window shrinks at one time."""
_NOISE = 0.03
"""Share of losses attributed to the line itself."""
_QUEUE = 1.25
"""A round trip longer than the shortest by this factor means a queue."""
_RATE_WEIGHT = 0.25
"""Weight of the newest measurement."""
_OVERTAKEN = 3
"""Later segments that must arrive before a segment counts as lost."""
_FIRST_TIMEOUT_S, _LEAST_TIMEOUT_S, _MOST_TIMEOUT_S = 1.0, 0.2, 4.0
_ACK_DELAY_S = 0.02
_ACK_EVERY = 2
"""Segments in order before an acknowledgement is sent immediately."""


@dataclass
class _Segment:
    """Content that was sent and is not acknowledged yet."""

    content: bytes
    sent_at: float
    number: int
    """Number of its latest transmission, counted over all segments."""
    was_repeated: bool = False
    is_lost: bool = False


class _Range(NamedTuple):
    start: int
    end: int


class ReliableStream:
    """One side of the stream. Times are seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._outgoing = _Outgoing()
        self._incoming = _Incoming()
        self._closes = False
        self.is_closed = False
        """Whether the other side has closed it, or this side has and has sent so."""

    def write(self, content: bytes) -> None:
        """Append `content` to what is to be sent."""
        self._outgoing.waiting += content

    def read(self) -> bytes:
        """The content that has arrived in order since the last read."""
        content = bytes(self._incoming.ready)
        self._incoming.ready.clear()
        return content

    def receive(self, datagram: bytes, *, now: float) -> None:
        """Handle a datagram of the other side; one that is not of this protocol is dropped."""
        kind = datagram[0] if datagram else 0
        if kind == _DATA and len(datagram) > _DATA_HEAD.size:
            self._incoming.take(_DATA_HEAD.unpack_from(datagram)[1], datagram[_DATA_HEAD.size :], now=now)
        elif kind == _ACK and len(datagram) >= _ACK_HEAD.size:
            self._outgoing.acknowledged(_ACK_HEAD.unpack_from(datagram)[1], _ranges_in(datagram), now=now)
        elif kind == _CLOSE:
            self.is_closed = True

    def close(self) -> None:
        """Close the stream: the next `to_send` tells the other side."""
        self._closes = True

    def to_send(self, *, now: float) -> Sequence[bytes]:
        """Datagrams to send now."""
        if self.is_closed:
            return ()
        if self._closes:
            self.is_closed = True
            return (bytes([_CLOSE]),)
        acknowledgement = self._incoming.acknowledgement(now=now)
        segments = list(self._outgoing.due(now=now))
        return segments if acknowledgement is None else [acknowledgement, *segments]

    @property
    def next_at(self) -> float | None:
        """Latest time for the next call of `to_send`, if nothing arrives and nothing is written before."""
        moments = [at for at in (self._incoming.ack_at, self._outgoing.timeout_at) if at is not None]
        return min(moments, default=None)

    @property
    def unsent_bytes(self) -> int:
        """Bytes written and not acknowledged yet."""
        return self._outgoing.end - self._outgoing.start + len(self._outgoing.waiting)

    def has_failed(self, *, now: float) -> bool:
        """Whether the other side has not acknowledged anything for too long."""
        return self._outgoing.silent_since is not None and now - self._outgoing.silent_since > FAILS_AFTER_S


class _Incoming:
    def __init__(self) -> None:
        self.ready = bytearray()
        self.ack_at: float | None = None
        self._next = 0
        """Offset of the next content in order."""
        self._ahead: dict[int, bytes] = {}
        """By offset, content that arrived out of order."""
        self._ahead_bytes = 0
        self._latest = 0
        self._unacknowledged = 0

    def take(self, start: int, content: bytes, *, now: float) -> None:
        self._unacknowledged += 1
        if start != self._next:
            self._unacknowledged = _ACK_EVERY  # out of order or repeated: acknowledge immediately
            is_new = start > self._next and start not in self._ahead
            has_room = start + len(content) <= self._next + WINDOW_BYTES
            if is_new and has_room and self._ahead_bytes + len(content) <= WINDOW_BYTES:
                self._ahead[start] = content
                self._ahead_bytes += len(content)
                self._latest = start
        else:
            self._append(content)
            while (following := self._ahead.pop(self._next, None)) is not None:
                self._ahead_bytes -= len(following)
                self._append(following)
                self._unacknowledged = _ACK_EVERY
        due = now if self._unacknowledged >= _ACK_EVERY else now + _ACK_DELAY_S
        self.ack_at = due if self.ack_at is None else min(self.ack_at, due)

    def acknowledgement(self, *, now: float) -> bytes | None:
        if self.ack_at is None or now < self.ack_at:
            return None
        self.ack_at, self._unacknowledged = None, 0
        return _ACK_HEAD.pack(_ACK, self._next) + b"".join(_RANGE.pack(at, end - at) for at, end in self._ranges())

    def _append(self, content: bytes) -> None:
        self.ready += content
        self._next += len(content)

    def _ranges(self) -> Sequence[_Range]:
        """Ranges of out-of-order content; of too many for one acknowledgement, those around the latest arrival."""
        if not self._ahead:
            return ()
        ranges: list[_Range] = []
        for start in sorted(self._ahead):
            end = start + len(self._ahead[start])
            if ranges and ranges[-1].end == start:
                ranges[-1] = _Range(ranges[-1].start, end)
            else:
                ranges.append(_Range(start, end))
        about = next((index for index, one in enumerate(ranges) if one.end > self._latest), len(ranges))
        first = max(0, min(about - _MOST_RANGES // 2, len(ranges) - _MOST_RANGES))
        return ranges[first : first + _MOST_RANGES]


class _Outgoing:
    def __init__(self) -> None:
        self.waiting = bytearray()
        """Content not sent yet."""
        self.start = self.end = 0
        """Offsets of the content that was sent and is not cumulatively acknowledged."""
        self.silent_since: float | None = None
        """Time since which an acknowledgement is awaited; None: none is."""
        self._flying: dict[int, _Segment] = {}
        """Unacknowledged segments by offset, ascending."""
        self._window = float(_FIRST_WINDOW)
        self._threshold = float(WINDOW_BYTES)
        self._in_flight_bytes = 0
        """Bytes of those segments that do not count as lost."""
        self._numbers = 0
        self._shrunk_at = -1
        """The latest transmission when the window last shrank; losses of earlier ones are ignored."""
        self._newest = -1
        """The highest acknowledged transmission number."""
        self._smoothed_s: float | None = None
        self._varies_s = 0.0
        self._shortest_s = math.inf
        """The shortest round trip so far."""
        self._rate = 0.0
        """Bytes a second delivered, smoothed."""
        self._lost_share = 0.0
        """Share of sent bytes that were lost, smoothed."""
        self._counted_from, self._counted_bytes, self._counted_lost = 0.0, 0, 0
        """Start of the current measurement, and the bytes delivered and lost since."""
        self._backoff = 1
        self._timer_from = 0.0

    @property
    def timeout_at(self) -> float | None:
        return self._timer_from + self._timeout_s if self._flying else None

    @property
    def _timeout_s(self) -> float:
        if self._smoothed_s is None:
            base_s = _FIRST_TIMEOUT_S
        else:
            base_s = max(_LEAST_TIMEOUT_S, self._smoothed_s + 4 * self._varies_s + _ACK_DELAY_S)
        return min(base_s * self._backoff, _MOST_TIMEOUT_S)

    def acknowledged(self, up_to: int, ranges: Sequence[_Range], *, now: float) -> None:
        if up_to > self.end:
            return  # acknowledges what was never sent
        arrived = list(self._arrived(max(up_to, self.start), ranges))
        if not arrived:
            return
        was_full = self._in_flight_bytes + SEGMENT_BYTES > self._window
        sample_s = None
        for start in arrived:
            segment = self._flying.pop(start)
            if not segment.is_lost:
                self._in_flight_bytes -= len(segment.content)
            self._counted_bytes += len(segment.content)
            self._newest = max(self._newest, segment.number)
            if not segment.was_repeated:  # Karn: otherwise it is not known which transmission has arrived
                sample_s = now - segment.sent_at
            if was_full:
                self._grow(len(segment.content))
        if sample_s is not None:
            self._measured(sample_s)
        self._measure_rate(now)
        self._backoff, self._timer_from = 1, now
        self.start = next(iter(self._flying), self.end)
        self.silent_since = now if self._flying else None
        if ranges:
            self._find_lost()

    def due(self, *, now: float) -> Iterator[bytes]:
        if self.timeout_at is not None and now >= self.timeout_at:
            self._time_out(now)
        for start, segment in self._flying.items():
            if segment.is_lost and self._has_window():
                segment.is_lost, segment.was_repeated = False, True
                yield self._transmit(start, segment, now)
        while self.waiting and self._has_window() and self.end + SEGMENT_BYTES <= self.start + WINDOW_BYTES:
            content = bytes(self.waiting[:SEGMENT_BYTES])
            del self.waiting[:SEGMENT_BYTES]
            segment = self._flying[self.end] = _Segment(content, now, 0)
            start, self.end = self.end, self.end + len(content)
            yield self._transmit(start, segment, now)

    def _transmit(self, start: int, segment: _Segment, now: float) -> bytes:
        if self.silent_since is None:
            self.silent_since = self._timer_from = self._counted_from = now
            self._counted_bytes = self._counted_lost = 0
        segment.number, segment.sent_at = self._numbers, now
        self._in_flight_bytes += len(segment.content)
        self._numbers += 1
        return _DATA_HEAD.pack(_DATA, start) + segment.content

    def _has_window(self) -> bool:
        return self._in_flight_bytes + SEGMENT_BYTES <= self._window

    def _arrived(self, up_to: int, ranges: Sequence[_Range]) -> Iterator[int]:
        for start, segment in self._flying.items():
            end = start + len(segment.content)
            if end <= up_to or any(one.start <= start and end <= one.end for one in ranges):
                yield start
            elif not ranges:
                return

    def _count_as_lost(self, segment: _Segment) -> None:
        segment.is_lost = True
        self._in_flight_bytes -= len(segment.content)
        self._counted_lost += len(segment.content)

    def _find_lost(self) -> None:
        newly = [
            segment
            for segment in self._flying.values()
            if not segment.is_lost and segment.number + _OVERTAKEN <= self._newest
        ]
        for segment in newly:
            self._count_as_lost(segment)
        if any(segment.number > self._shrunk_at for segment in newly):
            self._shrunk_at = self._numbers - 1
            if not self._is_noise():
                self._threshold = self._window = self._carried()

    def _time_out(self, now: float) -> None:
        for segment in self._flying.values():
            if not segment.is_lost:
                self._count_as_lost(segment)
        if self._backoff == 1:
            self._threshold = self._carried()
        self._window, self._shrunk_at = float(_LEAST_WINDOW), self._numbers - 1
        self._backoff, self._timer_from = min(2 * self._backoff, 64), now

    def _carried(self) -> float:
        """The window that fills the line but no queue; not below half of the current one."""
        carried = self._rate * self._shortest_s if self._rate else 0.0
        return max(_LEAST_WINDOW, self._window * _SHRINKS_TO, min(self._window, carried))

    def _is_noise(self) -> bool:
        """Whether the losses are not from a full queue."""
        has_queue = self._smoothed_s is None or self._smoothed_s > _QUEUE * self._shortest_s
        return not has_queue and self._lost_share < _NOISE

    def _measure_rate(self, now: float) -> None:
        """Update rate and loss, once per round trip."""
        passed_s = now - self._counted_from
        if self._smoothed_s is None or passed_s < self._smoothed_s or passed_s <= 0:
            return
        rate = self._counted_bytes / passed_s
        share = self._counted_lost / max(1, self._counted_lost + self._counted_bytes)
        self._rate += (rate - self._rate) * (_RATE_WEIGHT if self._rate else 1.0)
        self._lost_share += (share - self._lost_share) * _RATE_WEIGHT
        self._counted_from, self._counted_bytes, self._counted_lost = now, 0, 0

    def _grow(self, acknowledged_bytes: int) -> None:
        if self._window < self._threshold:
            self._window += acknowledged_bytes
        else:
            self._window += SEGMENT_BYTES * acknowledged_bytes / self._window
        self._window = min(self._window, float(WINDOW_BYTES))

    def _measured(self, sample_s: float) -> None:
        self._shortest_s = min(self._shortest_s, sample_s)
        if self._smoothed_s is None:
            self._smoothed_s, self._varies_s = sample_s, sample_s / 2
        else:
            self._varies_s += (abs(self._smoothed_s - sample_s) - self._varies_s) / 4
            self._smoothed_s += (sample_s - self._smoothed_s) / 8


def _ranges_in(datagram: bytes) -> Sequence[_Range]:
    whole = len(datagram) - (len(datagram) - _ACK_HEAD.size) % _RANGE.size
    found = _RANGE.iter_unpack(datagram[_ACK_HEAD.size : whole])
    return [_Range(start, start + size) for start, size in list(found)[:_MOST_RANGES]]
