"""Gradient codes: which shares of a batch each worker computes, and how the whole gradient is decoded from some
replies.

Tandon, Lei, Dimakis, Karampatziakis 2017 (ICML, PMLR 70:3368). B [n, n] encodes: worker i sends sum_j B_ij g_j. For the
workers I that have replied, coefficients a with a B_I = 1 decode.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
DECODES = 1e-8
"""The largest error of a B_I = 1 that counts as decoded; float64 leaves less than 1e-9 for up to 64 workers, s <= 4."""


class GradientCode(NamedTuple):
    """A code of n workers for n shares."""

    matrix: Float64
    """B, [workers, shares]."""
    fewest: int
    """Decoding is not tried with fewer replies than this."""
    is_whole: bool
    """Whether its coefficients are zeros and ones, so that float32 represents a worker's sum as exactly as a
    gradient.
    """

    def shares_of(self, worker: int) -> list[tuple[int, float]]:
        """The shares that a worker computes, with their factors."""
        row = self.matrix[worker]
        return [(int(share), float(row[share])) for share in np.flatnonzero(row)]

    def decode(self, replied: Collection[int]) -> Mapping[int, float] | None:
        """The factor of each reply in the gradient; None where these replies do not suffice yet.

        A whole code takes the fewest workers that together have every share, so that the result does not depend on
        further replies.
        """
        if len(replied) < self.fewest:
            return None
        among = sorted(replied)
        if self.is_whole:
            return self._first_of_each(among)
        rows = self.matrix[among]
        found, *_ = np.linalg.lstsq(rows.T, np.ones(self.matrix.shape[1]), rcond=None)
        if float(np.abs(found @ rows - 1).max()) > DECODES:
            return None
        return dict(zip(among, (float(factor) for factor in found), strict=True))

    def _first_of_each(self, among: list[int]) -> Mapping[int, float] | None:
        missing = np.ones(self.matrix.shape[1], np.bool_)
        taken: dict[int, float] = {}
        for worker in among:
            held = self.matrix[worker] != 0
            if missing[held].all():
                taken[worker] = 1.0
                missing[held] = False
        return None if missing.any() else taken


def plain_code(workers: int) -> GradientCode:
    """Each worker has one share; all must reply."""
    return GradientCode(np.eye(workers), workers, is_whole=True)


def repetition_code(workers: int, stragglers: int) -> GradientCode:
    """Fractional repetition: groups of s + 1 workers compute the same s + 1 shares; one reply of each group is enough.

    `workers` must be a multiple of s + 1.
    """
    size = stragglers + 1
    blocks: Float64 = np.kron(np.eye(workers // size), np.ones((size, size))).astype(np.float64)
    return GradientCode(blocks, workers // size, is_whole=True)


def cyclic_code(workers: int, stragglers: int, seed: int) -> GradientCode:
    """Cyclic repetition, algorithm 2: worker i computes the shares i, i + 1, ..., i + s; any n - s replies will do."""
    if stragglers == 0:
        return plain_code(workers)
    drawn = np.random.default_rng(seed).standard_normal((stragglers, workers))
    drawn[:, -1] = -drawn[:, :-1].sum(axis=1)  # every row sums to zero, so that the all-ones vector can be decoded
    matrix = np.zeros((workers, workers))
    for worker in range(workers):
        places = (worker + np.arange(stragglers + 1)) % workers
        matrix[worker, places[0]] = 1.0
        matrix[worker, places[1:]] = -np.linalg.solve(drawn[:, places[1:]], drawn[:, places[0]])
    return GradientCode(matrix, workers - stragglers, is_whole=False)
