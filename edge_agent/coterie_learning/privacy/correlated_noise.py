"""DP-FTRL: clipped updates of equal weight, and Gaussian noise on their sum that later rounds partly cancel.

Kairouz et al. 2021, arXiv 2103.00039, with the matrix mechanism of Denisov et al. 2022, arXiv 2202.08312, and the
banded square root as its strategy. In a model after many rounds most of the noise has cancelled out, so that the same
guarantee costs far less accuracy than with independent noise. The only assumption on participation is that each
device's parts are a number of releases apart: the columns of a strategy with that many bands are then orthogonal, so
that every part of a device has the same cost, and k parts cost as much as k Gaussian mechanisms.  Trust model and unit
of privacy are those of `central_noise`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.correlation import banded_square_root, inverse
from coterie_learning.kinds import Resources
from coterie_learning.merge import Cohort
from coterie_learning.noise import filtered_noise
from coterie_learning.privacy import Int64, Privacy, Released, ReleasedElements, Spend, Stream
from coterie_learning.privacy._clipping import clipped
from coterie_learning.privacy._coverage import uncovered, unsummed
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class CorrelatedNoise(Privacy, frozen=True, tag="correlated_noise"):
    """As `central_noise`, with noise that cancels out over rounds; for fleets much larger than a round's cohort.

    The noise of a release is a combination of one draw of white noise for each release so far. All are drawn again from
    their seeds; no noise is stored.
    """

    norm: Annotated[
        float, Meta(gt=0, le=1e3, description="C: largest L2 norm of an update that counts, over all its tensors")
    ] = 1.0
    noise_multiplier: Annotated[
        float,
        Meta(gt=0, le=1e3, description="z: standard deviation of the white noise that is correlated, in norms"),
    ] = 4.0
    separation_rounds: Annotated[
        int, Meta(ge=1, le=1000, description="b: a device that took part in a release is in none of the next b - 1")
    ] = 10
    target_rounds: Annotated[int, Meta(ge=1, le=10_000, description="T: releases after which the federation stops")] = (
        100
    )
    releases: ClassVar[Released] = "sums"
    since: ClassVar[str] = "0.2"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - the platform draws
        return clipped(update, self.norm)

    def bound(self) -> float | None:
        return self.norm

    def stream(self) -> Stream | None:
        return Stream(self.separation_rounds, self.target_rounds)

    def release(
        self,
        total: Int64,
        *,
        seed: bytes,
        place: ReleasedElements,
        cohort: Cohort,  # noqa: ARG002
        earlier: Sequence[bytes] = (),
    ) -> Int64:
        shares = inverse(banded_square_root(self.separation_rounds), len(earlier) + 1)[::-1]
        deviation = self.noise_multiplier * self.norm * place.unit
        return total + filtered_noise(deviation, shares.tolist(), (*earlier, seed), place.name, place.start, len(total))

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002 - whatever the cohort
        """The white noise over the norm of a column, which is the sensitivity of the whole stream to one part."""
        return Spend(self.noise_multiplier / float(np.linalg.norm(banded_square_root(self.separation_rounds))))

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if plan.pace.staleness_allowed() is not None:
            detail = f"under pace {plan.pace.name} an update may count in a later round than the device was asked in"
            return Reason(
                "plan.needs_cohorts", f"{detail}, and the device could not see how far apart they are; take pace sync"
            )
        return uncovered(self.name, plan, model) or unsummed(plan)
