"""Groups devices of similar speed, by the histogram bucket of their median."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coterie_wire.latency import PER_OCTAVE, Histogram

GAP_BANDS = 2
"""Neighbours in the order of their bands that are further apart are of two classes: one takes 1.4 times as long."""
WORKS = ("predict", "step")
"""The kinds of work by which devices are compared; the first one, where as many have measured either."""


class BandRange(NamedTuple):
    """The bands of a class."""

    first: int
    last: int

    def distance(self, band: int) -> int:
        """How many bands `band` lies outside the range."""
        return max(self.first - band, band - self.last, 0)

    @property
    def from_s(self) -> float:
        """The shortest median, in seconds, of a device in it."""
        return 2 ** (self.first / PER_OCTAVE) / 1e6

    @property
    def to_s(self) -> float:
        """The longest median, in seconds, of a device in it."""
        return 2 ** ((self.last + 1) / PER_OCTAVE) / 1e6


class Quantiles(NamedTuple):
    """Quantiles of durations, in seconds; all 0 where there are none."""

    p50_s: float
    p90_s: float
    p99_s: float


def divide(bands: Iterable[int]) -> Sequence[BandRange]:
    """The classes that bands with devices fall into at gaps (single linkage), the quickest first."""
    spans: list[BandRange] = []
    for band in sorted(set(bands)):
        if spans and band - spans[-1].last <= GAP_BANDS:
            spans[-1] = BandRange(spans[-1].first, band)
        else:
            spans.append(BandRange(band, band))
    return spans


def nearest(spans: Sequence[BandRange], band: int) -> int:
    """The index of the class whose bands are nearest to `band`; of two, the quicker one."""
    return min(range(len(spans)), key=lambda place: spans[place].distance(band))


def quantiles_of(durations: Histogram) -> Quantiles:
    """The three quantiles that are shown."""
    return Quantiles(*(durations.quantile_s(share) or 0.0 for share in (0.5, 0.9, 0.99)))
