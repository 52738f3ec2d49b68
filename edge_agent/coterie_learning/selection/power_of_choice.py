"""Power-of-Choice: of some random candidates those with the highest loss (Cho et al. 2022, arXiv 2010.01243, §3)."""

import math
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from coterie_learning.random import device_lot
from coterie_learning.selection import DeviceFacts
from coterie_learning.selection._fair import Fair, drawn


class PowerOfChoice(Fair, frozen=True, tag="power_of_choice"):
    """Devices with a high loss are selected more often; the loss is the last one reported."""

    candidates: Annotated[
        float, Meta(ge=1, le=100, description="candidates drawn for each device that is asked (d / m); 1: uniform")
    ] = 2.0

    def prefer(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> Sequence[str]:  # noqa: ARG002
        weights = {known.device: float(max(1, known.samples)) for known in devices}
        some = drawn(weights, count=math.ceil(count * self.candidates), seed=seed)
        # Devices without a reported loss come first, so that their losses become known.
        losses = {known.device: math.inf if known.loss is None else known.loss for known in devices}
        return sorted(some, key=lambda device: (-losses[device], device_lot(seed, device)))[:count]
