"""Distances between models: symmetrised cross entropy of outputs minus self-entropy (Lu et al. 2019, SEC, grouping)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

ModelOutputs: TypeAlias = NDArray[np.float16] | NDArray[np.float32]
"""Probabilities that models give for the same samples: [models, samples, classes]; may be memory-mapped."""
Distances = NDArray[np.float32]
"""[models, models], symmetric, zero on the diagonal, in nats."""
FLOOR = 1e-3
"""Share of the uniform distribution mixed in, so that a class that a model lacks has a nonzero probability."""
BLOCK_BYTES = 16 << 20
"""Bytes of outputs held as float32 at once."""


def model_distances(outputs: ModelOutputs) -> Distances:
    """Half the sum of both Kullback-Leibler divergences, averaged over the samples.

    `outputs` are read in blocks of samples: except for the result, memory does not grow with their number.
    """
    models, samples, classes = outputs.shape
    if not models:
        return np.zeros((0, 0), np.float32)
    cross: NDArray[np.float64] = np.zeros((models, models), np.float64)
    step = max(1, BLOCK_BYTES // (4 * models * classes))
    for start in range(0, samples, step):
        block = np.asarray(outputs[:, start : start + step], np.float32).reshape(models, -1)
        smooth = block * np.float32(1 - FLOOR) + np.float32(FLOOR / classes)
        cross -= smooth @ np.log(smooth).T
    cross /= max(samples, 1)
    own = np.diagonal(cross)
    distances = (cross + cross.T) / 2 - (own[:, None] + own[None, :]) / 2
    np.fill_diagonal(distances, 0)
    # Rounding may make the distance of equal outputs negative.
    found: Distances = np.maximum(distances, 0).astype(np.float32)
    return found


def group_distances(distances: Distances, labels: NDArray[np.int64]) -> Distances:
    """Mean distance of models of two groups, [groups, groups]; on the diagonal, of two different models of a group.

    `labels` [models] are the groups, numbered from 0; a group of one model is at distance 0 from itself.
    """
    groups = int(labels.max()) + 1
    member = np.zeros((len(labels), groups), np.float32)
    member[np.arange(len(labels)), labels] = 1
    sizes = member.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    found: Distances = (member.T @ distances @ member / np.maximum(pairs, 1)).astype(np.float32)
    return found
