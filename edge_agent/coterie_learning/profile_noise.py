"""Noise on a profile: local differential privacy of its two histograms, the samples found and those missed by class.

The Gaussian mechanism (Dwork and Roth 2014, doi 10.1561/0400000042, Appendix A) with its exact guarantee (Balle and
Wang 2018, arXiv 1805.06530, Theorem 8). The unit is one sample: another in its place moves one count down and one up,
so that two profiles are √2 apart. A guarantee for the device as a whole would need noise as large as the window, and
nothing would be left to match by. It holds for what one sample is counted as; that a model trained on a sample
predicts later ones otherwise is not covered, nor are portions, nor that and when a device asks or has recovered, nor
what it says of a portion that it has judged.
"""

import math

import numpy as np

from coterie_learning.accounting import cost_of, epsilon_of
from coterie_learning.help import WatchRules
from coterie_learning.noise import whole_noise
from coterie_learning.profile import Counts
from coterie_wire.helping import SampleNoise

SENSITIVITY = math.sqrt(2)
_KEPT = 2.0
"""Standard deviations of its noise that a class has to have, or it is taken to be absent."""


def noised(counts: Counts, noise_multiplier: float, key: bytes) -> Counts:
    """`counts` with Gaussian noise of `noise_multiplier` · √2 on how many of each class were found and were missed.

    What follows is computed from the noised counts alone: classes within the noise are left out, and none of the
    others has less than no samples found or missed. `key` [32 bytes] is secret and serves once.
    """
    deviation, classes = noise_multiplier * SENSITIVITY, len(counts.samples)
    found = counts.samples - counts.wrong + whole_noise(deviation, key, "found", 0, classes)
    samples = found + counts.wrong + whole_noise(deviation, key, "missed", 0, classes)
    samples[samples < max(1.0, _KEPT * math.sqrt(2) * deviation)] = 0
    return Counts(samples, samples - np.clip(found, 0, samples))


def sample_noise(rules: WatchRules, delta: float) -> SampleNoise | None:
    """What profiles and requests together tell of one sample, while a plan lasts; None: nothing bounds that.

    It is counted in as many as its batches are among the newest of.
    """
    if not rules.noise_multiplier:
        return None
    reports = math.ceil(rules.window_batches / rules.report_batches)
    requests = math.ceil(rules.recent_batches / rules.cool_down_batches)
    epsilon = epsilon_of((reports + requests) * cost_of(rules.noise_multiplier), delta)
    return SampleNoise(epsilon, delta) if math.isfinite(epsilon) else None
