"""Noise on a profile: local differential privacy of its two histograms, correct and wrong predictions by class.

The Gaussian mechanism (Dwork and Roth 2014, doi 10.1561/0400000042, Appendix A) with its exact guarantee (Balle and
Wang 2018, arXiv 1805.06530, Theorem 8). The unit of privacy is one sample: replacing it moves one count down and one
up, so that the sensitivity is √2. A guarantee for the device as a whole would need noise as large as the window, which
would make matching impossible. The guarantee covers the counting of a sample. It does not cover the influence of a
sample on later predictions through training, portions, whether and when a device asks for help or has recovered, and
its judgement of a portion.
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
"""A class with fewer counts than this many standard deviations of the noise is taken as absent."""


def noised(counts: Counts, noise_multiplier: float, key: bytes) -> Counts:
    """`counts` with Gaussian noise of `noise_multiplier` · √2 on correct and wrong predictions of each class.

    The rest is post-processing: classes within the noise are left out, and counts are clipped at 0. `key` [32 bytes] is
    secret and used once.
    """
    deviation, classes = noise_multiplier * SENSITIVITY, len(counts.samples)
    found = counts.samples - counts.wrong + whole_noise(deviation, key, "found", 0, classes)
    samples = found + counts.wrong + whole_noise(deviation, key, "missed", 0, classes)
    samples[samples < max(1.0, _KEPT * math.sqrt(2) * deviation)] = 0
    return Counts(samples, samples - np.clip(found, 0, samples))


def sample_noise(rules: WatchRules, delta: float) -> SampleNoise | None:
    """The privacy cost of profiles and requests to one sample during a plan; None: unbounded.

    A sample is counted in every report and request whose newest batches include its batch.
    """
    if not rules.noise_multiplier:
        return None
    reports = math.ceil(rules.window_batches / rules.report_batches)
    requests = math.ceil(rules.recent_batches / rules.cool_down_batches)
    epsilon = epsilon_of((reports + requests) * cost_of(rules.noise_multiplier), delta)
    return SampleNoise(epsilon, delta) if math.isfinite(epsilon) else None
