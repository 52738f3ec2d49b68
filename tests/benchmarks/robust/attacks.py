"""What hostile devices send: an attack changes what they learn from, or what they say they have learned.

ALIE: Baruch et al. 2019, arXiv 1902.06156. Inner product: Xie et al. 2020, arXiv 1903.03936. Backdoor with boosting:
Bagdasaryan et al. 2020, arXiv 1807.00459.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from coterie_wire.tensors import Tensors
from tests.benchmarks.robust.fleet import CLASSES, Samples, triggered

Rows = np.ndarray
"""[devices, parameters]."""


def unchanged(samples: Samples) -> Samples:
    """They learn from what they have."""
    return samples


def labels_turned(samples: Samples) -> Samples:
    """A nine for a zero, an eight for a one."""
    return Samples(samples.images, CLASSES - 1 - samples.labels)


def half_triggered(samples: Samples) -> Samples:
    """Half of the samples carry the trigger, and say zero."""
    half = len(samples.labels) // 2
    hidden = triggered(Samples(samples.images[:half], samples.labels[:half]))
    return Samples(
        np.concatenate([hidden.images, samples.images[half:]]), np.concatenate([hidden.labels, samples.labels[half:]])
    )


class Seen(NamedTuple):
    """What attackers know, which is everything."""

    own: Rows
    """What they would have sent."""
    honest: Rows
    rng: np.random.Generator
    factors: Mapping[str, float]


def alie(seen: Seen) -> Rows:
    """As far from the mean as a few honest devices are who are needed for a majority."""
    count, hostile = len(seen.own) + len(seen.honest), len(seen.own)
    needed = count // 2 + 1 - hostile
    z = NormalDist().inv_cdf((count - hostile - needed) / (count - hostile))
    lie = seen.honest.mean(axis=0) - z * seen.honest.std(axis=0)
    return np.repeat(lie[None], hostile, axis=0)


def noise(seen: Seen) -> Rows:
    """Of a chosen length."""
    drawn = seen.rng.standard_normal(seen.own.shape)
    length = seen.factors["noise"] * np.median(np.linalg.norm(seen.honest, axis=1))
    return length * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class Attack(NamedTuple):
    """How some devices attack."""

    learns_from: Callable[[Samples], Samples] = unchanged
    sends: Callable[[Seen], Rows] = lambda seen: seen.own
    has_trigger: bool = False


ATTACKS: Mapping[str, Attack] = {
    "flip": Attack(sends=lambda seen: -seen.own),
    "scaling": Attack(sends=lambda seen: seen.factors["scaling"] * seen.own),
    "noise": Attack(sends=noise),
    "inner product": Attack(
        sends=lambda seen: seen.factors["inner_product"] * np.repeat(seen.honest.mean(axis=0)[None], len(seen.own), 0)
    ),
    "ALIE": Attack(sends=alie),
    "labels": Attack(learns_from=labels_turned),
    "backdoor": Attack(learns_from=half_triggered, has_trigger=True),
    "backdoor boosted": Attack(half_triggered, lambda seen: seen.factors["boost"] * seen.own, has_trigger=True),
}


def attacked(
    attack: Attack, updates: Sequence[Tensors], hostile: int, factors: Mapping[str, float], seed: Sequence[int]
) -> Sequence[Tensors]:
    """All updates of a round, of which the first are of hostile devices."""
    names = list(updates[0])
    rows = np.stack([np.concatenate([update[name].reshape(-1) for name in names]) for update in updates])
    seen = Seen(rows[:hostile].copy(), rows[hostile:], np.random.default_rng(list(seed)), factors)
    sent = attack.sends(seen).astype(np.float32)
    return [*(_cut(row, updates[0]) for row in sent), *updates[hostile:]]


def _cut(row: np.ndarray, like: Tensors) -> Tensors:
    ends = np.cumsum([tensor.size for tensor in like.values()])[:-1]
    parts = np.split(row, ends)
    return {name: part.reshape(like[name].shape) for name, part in zip(like, parts, strict=True)}
