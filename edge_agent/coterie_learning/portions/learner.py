"""A helper's whole model as an extra learner in an ensemble with the target's, for models with different bodies.

The learners are weighted on the newest samples by multi-class boosting (SAMME: Zhu et al. 2009,
doi 10.4310/SII.2009.v2.n3.a8), as in Canoe (Daga et al. 2021, arXiv 2108.12124). An extra learner predicts the
requested classes; the probability of all others is divided as by the target's personal model.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Float32

LEAST_WEIGHT = 0.05
"""Share of the total weight below which an extra learner is dropped."""
_SMALLEST_ERROR = 1e-3
"""Least error rate, so that the weight of a learner without errors is finite."""


def opinion(own: Float32, extra: Float32, classes: Sequence[int]) -> Float32:
    """The output [n, classes] of an extra learner, from its probabilities `extra` and the target's `own`.

    Its probabilities of `classes` are used; the rest is divided as by the target's model. This is also the teacher's
    output where the target distils the extra learner into its model instead of keeping it.
    """
    asked = np.zeros(own.shape[1], bool)
    asked[list(classes)] = True
    claimed = np.where(asked, extra, 0)
    others = np.where(asked, 0, own)
    mass = others.sum(axis=1, keepdims=True)
    rest = 1 - claimed.sum(axis=1, keepdims=True)
    # Where the target's model gives the other classes no probability, they share the rest equally.
    divided = np.where(mass > 0, others / np.where(mass > 0, mass, 1), ~asked / max(1, (~asked).sum()))
    together: Float32 = (claimed + rest * divided).astype(np.float32)
    return together


def boost_weights(learners: Sequence[Float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weight of each learner, summing to 1, from its probabilities [n, classes] of samples with `labels` [n].

    Samples that earlier learners misclassified weigh more for the next; a learner no better than chance has no weight.
    The first is the target's personal model, which has all weight where none is better than chance.
    """
    classes = max(2, len(np.unique(labels)))
    samples = np.full(len(labels), 1 / len(labels))
    weights = np.zeros(len(learners))
    for index, probabilities in enumerate(learners):
        wrong = probabilities.argmax(axis=1) != labels
        error = float(np.clip(samples[wrong].sum(), _SMALLEST_ERROR, 1 - _SMALLEST_ERROR))
        weights[index] = max(0.0, np.log((1 - error) / error) + np.log(classes - 1))
        samples = samples * np.exp(weights[index] * wrong)
        samples /= samples.sum()
    if not weights.any():
        weights[0] = 1.0
    share: NDArray[np.float64] = weights / weights.sum()
    return share


def worth_keeping(weights: NDArray[np.float64]) -> tuple[bool, ...]:
    """Whether each learner is kept: the first always, another while its weight is at least `LEAST_WEIGHT`."""
    return (True, *(bool(weight >= LEAST_WEIGHT) for weight in weights[1:]))


def vote(learners: Sequence[Float32], weights: Sequence[float] | NDArray[np.float64]) -> Float32:
    """The weighted mean of the learners' probabilities [n, classes]."""
    together: Float32 = np.tensordot(np.asarray(weights, np.float32), np.stack(learners), axes=1).astype(np.float32)
    return together
