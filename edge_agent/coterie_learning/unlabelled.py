"""Drift detection without labels: a model becomes less confident, or inputs differ from the samples it was trained on.

The mean of 1 - confidence estimates a classifier's error rate, and its rise the rise of the error rate (difference of
confidences: Guillory et al. 2021, arXiv 2107.03315). An input is unlike the device's samples if its mean squared
distance from their mean, in standard deviations, is exceeded by only a hundredth of them. Both are counted like errors,
and the plan's drift detector reads the counts.
"""

from typing import Annotated, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.detectors import AnyDriftState
from coterie_learning.help import WatchRules
from coterie_learning.prediction_counts import FEWEST, PredictionCounts

USUAL = 0.99
"""Share of the device's own samples that count as alike."""
Float64 = NDArray[np.float64]


class Unlabelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of drift detection on predictions; it can be stored and restored."""

    model: str
    usual_doubt: Annotated[float, Meta(ge=0, le=1)]
    """Mean doubt in the first group of predictions: only doubt above it is counted, as models are not calibrated."""
    confidence: AnyDriftState
    inputs: AnyDriftState
    groups_drifted: Annotated[int, Meta(ge=0)] | None = None
    """Groups of predictions since either rose; None: never, or too long ago to matter."""

    def observe(self, rules: WatchRules, seen: PredictionCounts) -> Self:
        """The state after one group of predictions."""
        more = round(max(0.0, seen.doubt - self.usual_doubt * seen.samples))
        doubted = self.confidence.observe(min(more, seen.samples), seen.samples)
        unlike = self.inputs.observe(min(seen.unlike, seen.samples), seen.samples)
        drifted = self.groups_drifted
        if doubted.drifted or unlike.drifted:
            drifted = 0
        elif drifted is not None:
            drifted = drifted + 1 if drifted + 1 < rules.recent_batches else None
        return msgspec.structs.replace(self, confidence=doubted.state, inputs=unlike.state, groups_drifted=drifted)


def observe_unlabelled(state: Unlabelled | None, rules: WatchRules, seen: PredictionCounts) -> Unlabelled:
    """The state after `seen`; it restarts with another model, and under another detector."""
    if state is None or state.model != seen.model or state.confidence.settings != rules.detector:
        begun = rules.detector.begin()
        state = Unlabelled(seen.model, min(1.0, seen.doubt / seen.samples), begun, begun)
    return state.observe(rules, seen)


class Usual(NamedTuple):
    """The distribution of the device's samples."""

    mean: Float64
    """[features]"""
    deviation: Float64
    """[features]; infinite where all are equal, as any other value would otherwise be infinitely far."""
    farthest: float
    """The distance that 99 of 100 of them do not exceed."""

    def unlike(self, features: Float64) -> int:
        """How many of the samples [n, features] are farther than that."""
        return int((_distances(features, self.mean, self.deviation) > self.farthest).sum())


def usual_of(features: Float64) -> Usual | None:
    """The distribution of the device's newest samples [n, features]; None where they are too few."""
    if len(features) < FEWEST:
        return None
    spread = features.std(axis=0)
    deviation = np.where(spread > 0, spread, np.inf)
    mean = features.mean(axis=0)
    return Usual(mean, deviation, float(np.quantile(_distances(features, mean, deviation), USUAL)))


def _distances(features: Float64, mean: Float64, deviation: Float64) -> Float64:
    distances: Float64 = (((features - mean) / deviation) ** 2).mean(axis=1)
    return distances
