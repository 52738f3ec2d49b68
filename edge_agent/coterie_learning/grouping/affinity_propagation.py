"""Affinity propagation: exemplars found by passing messages (Frey and Dueck 2007, doi 10.1126/science.1136800)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
MAX_STEPS = 300
SETTLED_STEPS = 15
"""Iterations with the same exemplars after which the messages have converged."""
JITTER = 1e-5
"""Noise as a share of the largest similarity; without it the exemplars of equal models would oscillate."""


class Messages(NamedTuple):
    """Messages between the points, [n, n] each."""

    responsibility: Float
    availability: Float


class Clustering(NamedTuple):
    """The messages and exemplars at convergence."""

    exemplars: NDArray[np.int64]
    messages: Messages


def no_messages(points: int) -> Messages:
    """The messages before the first iteration: zeros."""
    return Messages(np.zeros((points, points), np.float32), np.zeros((points, points), np.float32))


def jittered(similarities: Float) -> Float:
    """`similarities` [n, n] with seeded noise, too small to change a clustering."""
    noise = np.random.default_rng(0).standard_normal(similarities.shape).astype(np.float32)
    return similarities + noise * np.float32(JITTER * max(float(np.abs(similarities).max(initial=0)), 1e-12))


def propagate(similarities: Float, preference: float, *, damping: float, begin: Messages) -> Clustering | None:
    """Pass messages until the exemplars converge; a higher `preference` gives more exemplars. None: no convergence.

    `similarities` [n, n] are `jittered`; `begin` may be the messages of another preference, which saves iterations.
    """
    points = len(similarities)
    itself = np.arange(points)
    similarity = similarities.copy()
    similarity[itself, itself] = preference
    responsibility, availability = begin.responsibility.copy(), begin.availability.copy()
    keep, take = np.float32(damping), np.float32(1 - damping)
    scratch = np.empty_like(similarity)
    before, settled = None, 0
    for _ in range(MAX_STEPS):
        np.add(availability, similarity, out=scratch)
        best = scratch.argmax(axis=1)
        highest = scratch[itself, best].copy()
        scratch[itself, best] = -np.inf
        second = scratch.max(axis=1)
        np.subtract(similarity, highest[:, None], out=scratch)
        scratch[itself, best] = similarity[itself, best] - second
        responsibility *= keep
        responsibility += take * scratch

        np.maximum(responsibility, 0, out=scratch)
        scratch[itself, itself] = responsibility[itself, itself]
        scratch -= scratch.sum(axis=0)
        np.negative(scratch, out=scratch)
        own = scratch[itself, itself].copy()
        np.minimum(scratch, 0, out=scratch)
        scratch[itself, itself] = own
        availability *= keep
        availability += take * scratch

        chosen = (availability[itself, itself] + responsibility[itself, itself]) > 0
        settled = settled + 1 if before is not None and np.array_equal(chosen, before) else 0
        before = chosen
        if settled >= SETTLED_STEPS and chosen.any():
            return Clustering(np.flatnonzero(chosen), Messages(responsibility, availability))
    return None
