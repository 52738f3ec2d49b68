"""Slot `privacy`: what hides one device's update. One module a kind; the device's half and the platform's."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.kinds import Kind
from coterie_learning.merge import Cohort
from coterie_wire.tensors import Tensors

Int64 = NDArray[np.int64]
Released = Literal["nothing", "updates", "sums"]


class Spend(NamedTuple):
    """What a release costs each device in it, in the terms of an accountant: one Gaussian mechanism.

    The unit of privacy is the device; neighbouring fleets differ in one device's contribution, which is there or zero
    (for what is released of an update by itself: is any other).
    """

    noise_multiplier: float
    """Standard deviation of the noise over the L2 sensitivity to one contribution."""
    sampling_probability: float | None = None
    """That of independent coins which decided who takes part; None: no coins did, and no amplification is claimed."""
    participations: int = 1
    """Contributions of the same device to it, at most; the sensitivity is as many times that to one."""


class Place(NamedTuple):
    """Which elements of a sum are released, and what a contribution is to them."""

    name: str
    """The tensor, as ``PART.NAME``."""
    start: int
    """Of the first of them, in the flattened tensor."""
    unit: int
    """What 1.0 in an update that counts in full adds to the whole numbers of the sum."""


class Privacy(Kind, frozen=True):
    """What is done to an update on the device before the codec sees it, and to the sum of updates at the platform.

    `protect` sees every part of the update at once. Running statistics are not covered: they leave as they are.

    A kind says what it `releases` with a guarantee that is spent: each of the ``updates`` by itself, by the device that
    sends it; or their ``sums``, by the platform, between the exact sum and `Merge.finish`.
    """

    releases: ClassVar[Released] = "nothing"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:
        """The update that may leave the device; the same update and seed give the same."""
        raise NotImplementedError

    def leaves_as_is(self) -> bool:
        """Whether it changes nothing, so that what is no tensors may leave too."""
        return False

    def bound(self) -> float | None:
        """The L2 norm, over all parts, that the platform holds each decoded update to; None: it does not."""
        return None

    def release(self, total: Int64, *, seed: bytes, place: Place, cohort: Cohort) -> Int64:  # noqa: ARG002
        """The sum [elements] that the rest of the merge may see.

        `seed` is secret: 32 bytes that belong to this sum of these updates alone. An element gets the same in whatever
        span it is released.
        """
        return total

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002
        """What one release costs each device in it; None: nothing is guaranteed, so nothing is spent."""
        return None
