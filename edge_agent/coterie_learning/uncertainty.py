"""Active learning: the sample that a model is least certain of, for its owner to label.

Uncertainty sampling by margin (Scheffer, Decomain and Wrobel 2001) or entropy (Shannon 1948); Settles 2009, §3.1,
compares them.
"""

from collections.abc import Sequence

import numpy as np

from coterie_learning.labelling import How
from coterie_learning.metrics import Float64, Numbers, log_softmax

_DIGITS = 9
"""Decimals of certainties that are compared: runtimes differ in the last bits of an exponential."""


def most_uncertain(numbers: Sequence[int], outputs: Numbers, how: How) -> int:
    """The one of the samples `numbers` [n] that a model with logits `outputs` [n, classes] is least certain of.

    Ties go to the newest sample, which has the greatest number. There must be at least one sample.
    """
    certainty = np.round(_certainty(outputs, how), _DIGITS).tolist()
    least = min(zip(certainty, numbers, strict=True), key=lambda one: (one[0], -one[1]))
    return least[1]


def _certainty(logits: Numbers, how: How) -> Float64:
    """[n]; outputs that are not finite count as uncertain."""
    logs = log_softmax(logits)
    probabilities = np.exp(logs)
    if how == "margin":
        two = np.sort(probabilities, axis=1)[:, -2:]
        found = two[:, 1] - two[:, 0] if logits.shape[1] > 1 else two[:, 0]
    else:
        found = (probabilities * np.where(probabilities > 0, logs, 0.0)).sum(axis=1)  # minus the entropy
    return np.asarray(np.where(np.isfinite(found), found, -np.inf))
