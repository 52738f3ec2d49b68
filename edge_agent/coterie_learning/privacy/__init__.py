"""Slot `privacy`: what hides one device's update. One module a kind; the device's half and the platform's."""

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
    """What a release costs each device in it, in the terms of an accountant: one Gaussian mechanism.

    The unit of privacy is the device; neighbouring fleets differ in one device's contribution, which is there or zero
    (for what is released of an update by itself: is any other).
    """

    noise_multiplier: float
    """Standard deviation of the noise over the L2 sensitivity to one contribution."""
    participations: int = 1
    """Contributions of the same device to it, at most; the sensitivity is as many times that to one."""


class ReleasedElements(NamedTuple):
    """Which elements of a sum are released, and what a contribution is to them."""

    name: str
    """The tensor, as ``PART.NAME``."""
    start: int
    """Of the first of them, in the flattened tensor."""
    unit: int
    """What 1.0 in an update that counts in full adds to the whole numbers of the sum."""


class Masking(NamedTuple):
    """How updates are summed so that none of them can be read."""

    terms: SumTerms
    """What the sum promises to each device."""
    bits: int
    """Of a number of the sum."""
    norm: float
    """Of an update, at most."""
    full_samples: int | None
    """Samples from which on an update counts in full; None: each does."""
    step_s: float
    """Seconds that each step waits for devices at most."""
    noise_multiplier: float | None = None
    """Standard deviation, in sensitivities, of the noise that devices add to the sum; None: they add none.

    With noise nothing that devices measured is in the sum.
    """

    def grid(self, parameters: int, members: int, *, seed: int) -> Grid:
        """What whole numbers stand for in a sum of so many `members`, of updates of so many `parameters`.

        Raises WireError ``secure_sum.too_few`` where too few of them would add noise.
        """
        noise = None
        if self.noise_multiplier is not None:
            noise = Noise(self.noise_multiplier, self.terms.honest(members))
        return Grid(parameters, self.bits, self.norm, members, seed, noise)


class Stream(NamedTuple):
    """The releases of a federation under noise that depends on that of the releases before."""

    apart: int
    """Two releases with parts of the same device are at least so many apart; a device sees to it, too."""
    rounds: int
    """Releases that its guarantee is stated for; there are no more."""


class Privacy(Kind, frozen=True):
    """What is done to an update on the device before the codec sees it, and to the sum of updates at the platform.

    `protect` sees every part of the update at once. Running statistics are not covered: they leave as they are, unless
    they are hidden in a sum (`masking`).

    A kind says what it `releases` with a guarantee that is spent: each of the ``updates`` by itself, by the device that
    sends it; their ``sums``, by the platform, between the exact sum and `Merge.finish`; or ``masked_sums``, by the
    devices together, of which nobody has seen one without noise.
    """

    releases: ClassVar[Released] = "nothing"
    readability: ClassVar[Readability] = "readable"
    """How updates can be read that leave a device under it, as its owner agrees to it."""
    leaves_as_is: ClassVar[bool] = False
    """Whether it changes nothing, so that what is no tensors may leave too, and covers nothing."""
    is_summed_by_others: ClassVar[bool] = True
    """Whether another device may sum updates, as supernodes do: one that is given them can read and add them."""

    def protect(self, update: Tensors, *, seed: int) -> Tensors:
        """The update that may leave the device; the same update and seed give the same."""
        raise NotImplementedError

    def masking(self) -> Masking | None:
        """How updates and all that devices measure are hidden in their sum; None: each is sent to be read."""
        return None

    def bound(self) -> float | None:
        """The L2 norm, over all parts, that the platform holds each decoded update to; None: it does not."""
        return None

    def bounded_by(self, norm: float) -> "Privacy":  # noqa: ARG002
        """The same with another `bound`, where that follows the updates' norms; else the kind itself."""
        return self

    def next_bound(self, norms: Sequence[float], *, seed: bytes) -> float | None:  # noqa: ARG002
        """The bound of the next round, where it follows the norms of the updates whose sum is released with `seed`.

        What `norms` tell of a device is part of what `spend` counts. None: the bound stays as it is.
        """
        return None

    def stream(self) -> "Stream | None":
        """What binds the releases of a federation together; None: each is by itself."""
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
        """The sum [elements] that the rest of the merge may see.

        `seed` is secret: 32 bytes that belong to this sum of these updates alone. `earlier` are the seeds of the
        releases before it, oldest first, where the kind has a `stream`. An element gets the same in whatever span it is
        released.
        """
        return total

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002
        """What one release costs each device in it; None: nothing is guaranteed, so nothing is spent.

        Where releases are a stream, what a device spends on its parts adds up to what the whole stream tells of it.
        """
        return None
