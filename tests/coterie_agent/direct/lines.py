"""A line between two streams in simulated time: it delays, loses, doubles and reorders by a seeded draw."""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from coterie_agent.direct.stream import ReliableStream


@dataclass
class Line:
    """Both ways alike; `bytes_per_s` bounds each with a queue of `queue_bytes`, None: it does not."""

    delay_s: float = 0.02
    jitter_s: float = 0.0
    loss: float = 0.0
    doubled: float = 0.0
    bytes_per_s: float | None = None
    queue_bytes: int = 64 << 10
    seed: int = 0
    now: float = 0.0
    sent_bytes: int = 0
    _free_at: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def __post_init__(self) -> None:
        self.left, self.right = ReliableStream(), ReliableStream()
        self._rng = random.Random(self.seed)
        self._order = count()
        self._flying: list[tuple[float, int, int, bytes]] = []

    @property
    def sides(self) -> Sequence[ReliableStream]:
        return self.left, self.right

    def run(self, *, seconds: float) -> tuple[bytes, bytes]:
        """What left and right have read once nothing is left to do, or after so many seconds."""
        read = (bytearray(), bytearray())
        until = self.now + seconds
        while self.now <= until:
            for index, side in enumerate(self.sides):
                for datagram in side.to_send(now=self.now):
                    self._send(1 - index, datagram)
            moments = [side.next_at for side in self.sides if not side.is_closed]
            times = [at for at in [*moments, self._flying[0][0] if self._flying else None] if at is not None]
            if not times:
                break
            self.now = max(self.now, min(times))
            while self._flying and self._flying[0][0] <= self.now:
                _, _, to, datagram = heapq.heappop(self._flying)
                self.sides[to].receive(datagram, now=self.now)
                read[to].extend(self.sides[to].read())
        return bytes(read[0]), bytes(read[1])

    def _send(self, to: int, datagram: bytes) -> None:
        self.sent_bytes += len(datagram)
        for _ in range(2 if self._rng.random() < self.doubled else 1):
            if self._rng.random() < self.loss:
                continue
            leaves = self.now
            if self.bytes_per_s is not None:
                begins = max(self.now, self._free_at[to])
                if (begins - self.now) * self.bytes_per_s > self.queue_bytes:
                    continue
                leaves = self._free_at[to] = begins + len(datagram) / self.bytes_per_s
            arrives = leaves + self.delay_s + self._rng.uniform(0, self.jitter_s)
            heapq.heappush(self._flying, (arrives, next(self._order), to, datagram))
