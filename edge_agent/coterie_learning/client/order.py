"""Which samples are for training and which for evaluation, and the order of training, from their numbers and a seed."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from coterie_learning.random import epoch_order

HELD_OUT_SHARE = 0.2
_FEWEST_TO_SPLIT = 10


class SampleSplit(NamedTuple):
    """Sample numbers for training and for evaluation."""

    train: Sequence[int]
    held_out: Sequence[int]


def split(ids: Sequence[int], *, share: float = HELD_OUT_SHARE) -> SampleSplit:
    """Hold out a `share`, always the same samples. Fewer than ten samples are not split: all serve both purposes.

    The choice hashes a sample's number (Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4), so
    that it does not correlate with the order in which samples arrive.
    """
    if len(ids) < _FEWEST_TO_SPLIT:
        return SampleSplit(ids, ids)
    hashed = (np.asarray(ids, dtype=np.uint64) * np.uint64(11400714819323198485)) >> np.uint64(32)
    held_out = hashed < share * 2**32
    numbers = np.asarray(ids)
    if held_out.all() or not held_out.any():
        return SampleSplit(ids, ids)
    return SampleSplit(numbers[~held_out].tolist(), numbers[held_out].tolist())


def steps_per_epoch(samples: int, batch_size: int) -> int:
    return math.ceil(samples / batch_size)


def batch_ids(train: Sequence[int], *, seed: int, step: int, batch_size: int) -> list[int]:
    """The samples of optimisation step `step` (0-based), a function of the arguments alone."""
    epoch, part = divmod(step, steps_per_epoch(len(train), batch_size))
    order = _order(len(train), seed, epoch)
    return [train[i] for i in order[part * batch_size : (part + 1) * batch_size]]


@lru_cache(maxsize=1)
def _order(samples: int, seed: int, epoch: int) -> Sequence[int]:
    order: list[int] = epoch_order(samples, seed, epoch).tolist()
    return order
