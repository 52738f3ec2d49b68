"""The random draws of agents, vectorised over devices: the same numbers, with one sort for all."""

from collections.abc import Sequence

import numpy as np

from coterie.simulation.fleet.splits import Int64
from coterie_learning.random import random_bytes

_LAST = np.uint64(2**64 - 1)


def epoch_orders(samples: Sequence[int], seeds: Sequence[int], epoch: int) -> Sequence[Int64]:
    """`coterie_learning.random.epoch_order` for several trainings, each with so many samples."""
    lots = np.full((len(samples), max(samples)), _LAST, "<u8")
    for row, count, seed in zip(lots, samples, seeds, strict=True):
        row[:count] = np.frombuffer(random_bytes(8 * count, seed, "epoch", epoch), "<u8")
    # Padding is sorted after all samples: ties go to the lower number.
    orders = lots.argsort(axis=1, kind="stable")
    return [order[:count] for order, count in zip(orders, samples, strict=True)]
