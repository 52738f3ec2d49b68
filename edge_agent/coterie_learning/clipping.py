"""Gossip that is robust to poisoned models: each device mixes the others' models itself, and clips their differences.

ClippedGossip (He, Karimireddy and Jaggi 2022, "Byzantine-robust decentralized learning via ClippedGossip", arXiv
2202.01545, Algorithm 1): a device adds to its own parameters the weighted differences of the others' from them, each
clipped to a bound. The paper's bound depends on the number of attackers; here it is the median distance of the models
received, which is sound as long as fewer than half of their senders are malicious. No weight counts more than the
median weight, since a peer reports its own.

Every member sends its model to every other, so that none depends on an average computed by another: a member sends
group - 1 models, where a mean takes less than two. It loses to the mean where there is no attack and data differ much,
since what only one device has learned is clipped too; and poison within the distances of honest models is not detected.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.flat import flat, unflat
from coterie_learning.meetings import Meeting, row_specs
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

FAR = 3.0
"""Models farther than this many bounds are reported; on digits of few classes about one honest model in a thousand."""

MOST_ASKED = 3
"""Models requested before one is taken over: with this many, a single malicious one is detected."""


class Mixed(NamedTuple):
    """The result of mixing."""

    numbers: Float32
    far: Sequence[str]
    """Whose models lay more than `FAR` bounds away."""


def mix_clipped(own: Float32, weight: int, others: Mapping[str, tuple[int, Float32]]) -> Mixed:
    """Mix the `own` numbers with those of the `others`, each with the weight that its sender claims.

    With a single other model an outlier cannot be told, and `own` stays as it is.
    """
    if len(others) < 2:
        return Mixed(own, [])
    apart = {name: numbers - own for name, (_, numbers) in sorted(others.items())}
    distances = {name: float(np.linalg.norm(numbers.astype(np.float64))) for name, numbers in apart.items()}
    bound = sorted(distances.values())[(len(distances) - 1) // 2]
    weights = [weight, *(claimed for claimed, _ in others.values())]
    most = sorted(weights)[len(weights) // 2]
    total = sum(min(one, most) for one in weights)
    mixed = own.astype(np.float64)
    for name, numbers in apart.items():
        share = min(others[name][0], most) / total
        mixed += numbers * (share * min(1.0, bound / distances[name]) if distances[name] else 0.0)
    return Mixed(mixed.astype(np.float32), [name for name, one in distances.items() if one > FAR * bound])


def most_agreed(own: Tensors, models: Sequence[Tensors]) -> Tensors:
    """Which model to go on from: of `models`, in the order in which they are wanted, and the `own` one, that to which
    half of the others are nearest. With a single one beside the own nobody could tell, and the own one stays.
    """
    if len(models) < 2:
        return own
    every = [*models, own]
    vectors = [flat(model, np.float32).astype(np.float64) for model in every]

    def bound(place: int) -> float:
        apart = sorted(float(np.linalg.norm(one - vectors[place])) for at, one in enumerate(vectors) if at != place)
        return apart[(len(apart) - 1) // 2]

    return every[min(range(len(every)), key=bound)]


class ClippedMeeting(Meeting):
    """A meeting at which each share is a whole model, and members send no averages."""

    _is_over = False
    _far: Sequence[str] = ()

    @property
    def far(self) -> Sequence[str]:
        return self._far

    def average(self, *, anyway: bool = False) -> bytes | None:
        """None: each member mixes by itself. Shares that arrive after this call are too late."""
        self._is_over = self._is_over or (bool(self._list) and (anyway or not self.missing_shares))
        return None

    @property
    def missing_averages(self) -> Sequence[str]:
        return ()

    def end(self) -> Tensors:
        others = {member: self._shares[member] for member in self.share_senders}
        mixed = mix_clipped(self._vector, self.weight, others)
        self._far = mixed.far
        return unflat(mixed.numbers, self._specs)

    def _is_late(self) -> bool:
        return self._is_over

    def _slice(self, place: int) -> Float32:  # noqa: ARG002 - all are sent the same
        return self._vector

    def _share_specs(self, member: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - as above
        return row_specs(self._vector.size)
