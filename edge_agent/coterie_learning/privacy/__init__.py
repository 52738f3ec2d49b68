"""Slot `privacy`: what protects a single device's update? One module a kind; the device's half and the platform's."""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.consent import Readability
from coterie_learning.kinds import Kind
from coterie_learning.merge import Cohort
from coterie_learning.secure_sum.grid import Grid, Noise
from coterie_learning.secure_sum.terms import SumTerms
from coterie_wire.tensors import Tensors

Int64 = NDArray[np.int64]
Released = Literal["nothing", "updates", "sums", "masked_sums"]


class Spend(NamedTuple):
    """The privacy cost of a release to each device in it: one Gaussian mechanism.

    The unit of privacy is the device; neighbouring fleets differ in whether one device's contribution is zero (where
    single updates are released: in its value).
    """

    noise_multiplier: float
    """Standard deviation of the noise over the L2 sensitivity to one contribution."""
    participations: int = 1
    """Most contributions of one device to it; multiplies the sensitivity."""


class ReleasedElements(NamedTuple):
    """The elements of a sum that are released, and the scale of a contribution."""

    name: str
    """The tensor, as ``PART.NAME``."""
    start: int
    """Index of the first of them in the flattened tensor."""
    unit: int
    """The integer that 1.0 in an update of full weight adds to the sum."""


class Masking(NamedTuple):
    """Settings of secure aggregation."""

    terms: SumTerms
    """What the sum guarantees to each device."""
    bits: int
    """Bits of a number of the sum."""
    norm: float
    """Largest L2 norm of an update."""
    full_samples: int | None
    """Number of samples from which an update has full weight; None: all have."""
    step_s: float
    """Most seconds that each step waits for devices."""
    noise_multiplier: float | None = None
    """Standard deviation, in sensitivities, of the noise that devices add to the sum; None: they add none.

    With noise nothing that devices measured is in the sum.
    """

    def grid(self, parameters: int, members: int, *, seed: int) -> Grid:
        """The integer grid of a sum of this number of `members`, for updates of this number of `parameters`.

        Raises WireError ``secure_sum.too_few`` where too few of them add noise.
        """
        noise = None
        if self.noise_multiplier is not None:
            noise = Noise(self.noise_multiplier, self.terms.honest(members))
        return Grid(parameters, self.bits, self.norm, members, seed, noise)


class Stream(NamedTuple):
    """The releases of a federation whose noise is correlated."""

    apart: int
    """Least number of releases between two parts of the same device, which devices also enforce."""
    rounds: int
    """Number of releases that the guarantee is stated for; there are no more."""


class Privacy(Kind, frozen=True):
    """How an update is protected on the device before encoding, and the sum of updates at the platform.

    `protect` gets all parts of the update at once. Running statistics are not covered: they are sent unchanged, unless
    they are hidden in a sum (`masking`).

    A kind states what it `releases` at a privacy cost: single ``updates``, by the device that sends them; their
    ``sums``, by the platform, between the exact sum and `Merge.finish`; or ``masked_sums``, by the devices together, so
    that nobody sees a sum without noise.
    """

    releases: ClassVar[Released] = "nothing"
    readability: ClassVar[Readability] = "readable"
    """How updates sent under it can be read, as its owner agrees to it."""
    leaves_as_is: ClassVar[bool] = False
    """Whether it changes and protects nothing, so that data other than tensors may be sent too."""
    is_summed_by_others: ClassVar[bool] = True
    """Whether another device, such as a supernode, may read and sum updates."""

    def protect(self, update: Tensors, *, seed: int) -> Tensors:
        """The update that may leave the device; the same update and seed give the same result."""
        raise NotImplementedError

    def masking(self) -> Masking | None:
        """How updates and figures are hidden in their sum; None: they are sent individually."""
        return None

    def bound(self) -> float | None:
        """The L2 norm, over all parts, to which the platform clips each decoded update; None: it does not clip."""
        return None

    def bounded_by(self, norm: float) -> "Privacy":  # noqa: ARG002
        """The same kind with another `bound`, where the bound adapts to the updates' norms; else the kind itself."""
        return self

    def next_bound(self, norms: Sequence[float], *, seed: bytes) -> float | None:  # noqa: ARG002
        """The bound of the next round, where it adapts to the norms of the updates whose sum is released with `seed`.

        The cost of using `norms` is included in `spend`. None: the bound stays as it is.
        """
        return None

    def stream(self) -> "Stream | None":
        """The stream of correlated releases of a federation; None: releases are independent."""
        return None

    def release(
        self,
        total: Int64,
        *,
        seed: bytes,  # noqa: ARG002
        place: ReleasedElements,  # noqa: ARG002
        cohort: Cohort,  # noqa: ARG002
        earlier: Sequence[bytes] = (),  # noqa: ARG002
    ) -> Int64:
        """The sum [elements] that the rest of the merge gets.

        `seed` is secret: 32 bytes for this sum of these updates alone. `earlier` are the seeds of the earlier releases,
        oldest first, where the kind has a `stream`. The noise of an element does not depend on the span in which it is
        released.
        """
        return total

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002
        """The cost of one release to each device in it; None: there is no guarantee, and so no cost.

        Where releases are a stream, the costs of a device's parts add up to the cost of the whole stream.
        """
        return None
