"""Local differential privacy of each update: clipped to C on the device, which then adds N(0, (z·2C)²) to it.

The Gaussian mechanism (Dwork and Roth 2014, doi 10.1561/0400000042, Appendix A) with its exact guarantee (Balle and
Wang 2018, arXiv 1805.06530, Theorem 8). An update is indistinguishable from any other that the device might have sent:
the sensitivity is 2C, as two updates of norm C are at most 2C apart. The noise of a mean falls only with the square
root of the number of devices, so that small fleets learn nothing under a meaningful guarantee.
"""

import hashlib
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.consent import Readability
from coterie_learning.kinds import Resources
from coterie_learning.merge import Cohort
from coterie_learning.noise import whole_noise
from coterie_learning.privacy import Privacy, Released, Spend
from coterie_learning.privacy._clipping import clip_factor
from coterie_learning.privacy._coverage import uncovered
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Float32, Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

STEPS = 1 << 20
"""Integers in one standard deviation of the noise."""


class LocalNoise(Privacy, frozen=True, tag="local_noise"):
    """Protects the update without trust in the platform.

    It does not cover what devices report beside it: sample counts, losses, accuracies and training times.
    """

    norm: Annotated[
        float, Meta(gt=0, le=1e3, description="C: L2 norm that an update is scaled down to, over all its tensors")
    ] = 1.0
    noise_multiplier: Annotated[
        float,
        Meta(gt=0, le=1e3, description="z: standard deviation of the noise on each update, in times twice the norm"),
    ] = 1.0
    releases: ClassVar[Released] = "updates"
    readability: ClassVar[Readability] = "noised"
    since: ClassVar[str] = "0.2"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:
        """The noise is specific to this update and the secret seed: that of another update is independent."""
        digest = hashlib.sha256(str(seed).encode())
        for name in sorted(update):
            digest.update(name.encode() + b"\0" + np.ascontiguousarray(update[name], "<f4").tobytes())
        key, factor = digest.digest(), clip_factor(update, self.norm)
        return {name: self._noised(name, tensor, key, factor) for name, tensor in update.items()}

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002 - each update by itself
        return Spend(self.noise_multiplier)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Data that would leave the device without noise."""
        if plan.local.scope().head == "seen":
            detail = f"local {plan.local.name} sends rows of the classes that a device has seen, which names them"
            return Reason("plan.not_covered", f"{detail}; train the whole output layer")
        return uncovered(self.name, plan, model)

    def _noised(self, name: str, tensor: Float32, key: bytes, factor: float) -> Float32:
        deviation = self.noise_multiplier * 2 * self.norm
        step = deviation / STEPS
        whole = np.trunc(tensor.astype(np.float64).reshape(-1) * (factor / step))  # towards zero, so never longer
        noise = whole_noise(STEPS, key, name, 0, tensor.size)
        noised: Float32 = ((whole + noise) * step).astype(np.float32).reshape(tensor.shape)
        return noised
