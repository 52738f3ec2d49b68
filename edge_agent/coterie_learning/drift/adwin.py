"""ADWIN: a window that is cut where its halves differ (Bifet, Gavaldà 2007, doi 10.1137/1.9781611972771.42, ADWIN2)."""

import math
from itertools import accumulate
from typing import Annotated

from msgspec import Meta

from coterie_learning.drift import Detector, DriftState, Observed, error_rate

SAME_SIZE = 5
"""Buckets of one size before the two oldest are joined (the paper's M): memory is logarithmic in the window."""


class Adwin(Detector, frozen=True, tag="adwin"):
    """Drift is a cut after which the error is higher than before it; a cut to a lower error only drops old batches."""

    confidence: Annotated[
        float, Meta(gt=0, lt=1, description="chance of a cut where nothing changed, the paper's delta")
    ] = 0.002

    def begin(self) -> "AdwinState":
        return AdwinState(self)


class AdwinState(DriftState, frozen=True, tag="adwin"):
    """Buckets from the oldest to the newest: batches joined, samples, wrong ones."""

    settings: Adwin
    buckets: tuple[tuple[int, int, int], ...] = ()

    def observe(self, wrong: int, samples: int) -> Observed:
        error_rate(wrong, samples)
        buckets = _joined([*self.buckets, (1, samples, wrong)])
        drifted = False
        while (cut := self._rise(buckets)) is not None:
            drifted = drifted or cut > 0
            buckets = buckets[1:]
        return Observed(AdwinState(self.settings, tuple(buckets)), drifted)

    def _rise(self, buckets: list[tuple[int, int, int]]) -> float | None:
        """By how much the error rose at the first cut that separates unlike parts; None where all parts are alike."""
        total, total_wrong = sum(bucket[1] for bucket in buckets), sum(bucket[2] for bucket in buckets)
        mean = total_wrong / total
        # The paper's delta' = delta / ln n.
        log_term = math.log(2 * max(1.0, math.log(total)) / self.settings.confidence)
        old_samples = accumulate(bucket[1] for bucket in buckets[:-1])
        old_wrong = accumulate(bucket[2] for bucket in buckets[:-1])
        for samples, wrong in zip(old_samples, old_wrong, strict=True):
            rise = (total_wrong - wrong) / (total - samples) - wrong / samples
            inverse = 1 / samples + 1 / (total - samples)
            bound = math.sqrt(2 * inverse * mean * (1 - mean) * log_term) + 2 / 3 * inverse * log_term
            if abs(rise) > bound:
                return rise
        return None


def _joined(buckets: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """`buckets` with the two oldest of a size joined wherever there are more than `SAME_SIZE` of it."""
    size = 1
    while True:
        same = [index for index, bucket in enumerate(buckets) if bucket[0] == size]
        if len(same) <= SAME_SIZE:
            return buckets
        first, second = same[0], same[1]
        joined = (2 * size, buckets[first][1] + buckets[second][1], buckets[first][2] + buckets[second][2])
        buckets = [*buckets[:first], joined, *buckets[second + 1 :]]
        size *= 2
