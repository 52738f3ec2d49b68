"""Durations as a histogram: how often something took how long, in buckets a quarter of an octave wide."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Answer, TemperatureC
from coterie_wire.message import Count, Identifier

BUCKETS = 100
"""From 1 µs to 2**25 µs (34 s); what takes longer counts into the last."""
PER_OCTAVE = 4


class Histogram(msgspec.Struct, frozen=True):
    """Durations counted: element i counts those from 2**(i/4) µs to 2**((i+1)/4) µs; zeros at the end are left out."""

    counts: Annotated[tuple[Count, ...], Meta(max_length=BUCKETS)] = ()

    @classmethod
    def of(cls, counts: Sequence[int]) -> Self:
        """Without the zeros at the end."""
        length = max((index for index, count in enumerate(counts, start=1) if count), default=0)
        return cls(tuple(counts[:length]))

    @property
    def total(self) -> int:
        """How many durations were counted."""
        return sum(self.counts)

    def quantile_s(self, share: float) -> float | None:
        """The duration in seconds that `share` of all are not longer than, within 9 %; None where none was counted.

        It is the geometric middle of its bucket.
        """
        wanted = share * self.total
        seen = 0
        for index, count in enumerate(self.counts):
            seen += count
            if count and seen >= wanted:
                return math.pow(2.0, (index + 0.5) / PER_OCTAVE) / 1e6
        return None

    def scaled(self, total: int) -> Self:
        """As if there were about `total` durations: every bucket that counts any still does."""
        whole = max(self.total, 1)
        return type(self)(tuple(max(1, round(count * total / whole)) if count else 0 for count in self.counts))

    def __add__(self, other: Self) -> Self:
        """Both together."""
        width = max(len(self.counts), len(other.counts))
        padded = (histogram.counts + (0,) * (width - len(histogram.counts)) for histogram in (self, other))
        return type(self)(tuple(map(sum, zip(*padded, strict=True))))


Work = Literal["step", "predict"]
"""A train step on one batch, or a run of the model on what is asked at once."""


class Latency(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long one kind of work takes on a device, in one of its conditions."""

    version: Identifier
    """The newest one that was measured; versions of a pair share their graphs."""
    work: Work
    form: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
    """Which form of the version: ``float32`` is the version itself."""
    durations: Histogram
    """Scaled to about `MOST_REPORTED` of them, so that it does not tell how often the device works."""
    charging: Answer = "unknown"
    """While it was measured."""
    hottest_c: TemperatureC | None = None
    """The highest temperature of the device at which it was measured; None: not known."""


MOST_REPORTED = 1000


def bucket_of(duration_s: float) -> int:
    """The bucket that counts a duration."""
    if duration_s <= 1e-6:
        return 0
    return min(int(math.log2(duration_s * 1e6) * PER_OCTAVE), BUCKETS - 1)


class Durations:
    """Counts durations one by one."""

    def __init__(self) -> None:
        self._counts = [0] * BUCKETS

    def add(self, duration_s: float, *, times: int = 1) -> None:
        """Count `duration_s` so many times."""
        self._counts[bucket_of(duration_s)] += times

    def histogram(self) -> Histogram:
        """What was counted until now."""
        return Histogram.of(self._counts)
