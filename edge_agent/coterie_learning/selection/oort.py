"""Oort: guided selection of devices with high statistical utility for their training time (Lai et al. 2021, arXiv
2010.06081, Algorithm 1). The utility uses the mean loss, since devices report no more; it is a lower bound of the root
mean square of the losses. A device's claimed utility is bounded by clipping, its weight in a merge by other rules."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.selection import DeviceFacts, choose
from coterie_learning.selection._fair import Fair, drawn

CLIPPED_AT = 0.95
"""Quantile at which utilities are clipped."""
CUT_OFF = 0.95
"""Cut-off: devices with at least this share of the utility of the last exploited device may be drawn too."""
UNCERTAINTY = 0.1
LEAST = 1e-9
"""A positive weight, so that devices without utility are drawn last."""


class Oort(Fair, frozen=True, tag="oort"):
    """Exploits devices of high utility, and explores some that have not delivered an update yet."""

    exploration: Annotated[
        float, Meta(ge=0, le=1, description="share of a round's devices, at first, that have not delivered yet")
    ] = 0.9
    decay: Annotated[float, Meta(gt=0, le=1, description="factor of that share from one round to the next")] = 0.98
    least_exploration: Annotated[float, Meta(ge=0, le=1, description="what that share does not fall below")] = 0.2
    preferred_quantile: Annotated[
        float, Meta(gt=0, le=1, description="share of devices that are fast enough; slower ones lose utility")
    ] = 0.3
    slow_penalty: Annotated[
        float, Meta(ge=0, le=10, description="exponent of (preferred time / time) for slower devices; 0: no loss")
    ] = 2.0

    def prefer(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> Sequence[str]:
        tried = [known for known in devices if known.loss is not None and known.train_s is not None]
        known_names = {known.device for known in tried}
        untried = [known.device for known in devices if known.device not in known_names]
        share = max(self.least_exploration, self.exploration * self.decay ** (round_number - 1))
        exploring = min(len(untried), max(round(share * count), count - len(tried)))
        utilities = self.utilities(tried, round_number=round_number)
        exploited = _exploited(utilities, count=min(len(tried), count - exploring), seed=seed)
        return [*exploited, *choose(untried, count=count - len(exploited), seed=seed)]

    def utilities(self, devices: Sequence[DeviceFacts], *, round_number: int) -> Mapping[str, float]:
        """Utilities of devices that have delivered: statistical utility in 0..1, plus uncertainty, less a penalty."""
        if not devices:
            return {}
        raw = np.array([known.samples * (known.loss or 0.0) for known in devices])
        clipped = np.minimum(raw, np.quantile(raw, CLIPPED_AT))
        extent = float(np.ptp(clipped))
        scaled = (clipped - clipped.min()) / extent if extent else np.ones(len(devices))
        preferred_s = float(np.quantile([known.train_s or 0.0 for known in devices], self.preferred_quantile))
        found = {}
        for known, statistical in zip(devices, scaled.tolist(), strict=True):
            last = max(1, round_number - (known.idle_rounds or 0))
            utility = statistical + math.sqrt(UNCERTAINTY * math.log(max(1, round_number)) / last)
            train_s = known.train_s or 0.0
            if train_s > preferred_s:
                utility *= (preferred_s / train_s) ** self.slow_penalty
            found[known.device] = utility
        return found


def _exploited(utilities: Mapping[str, float], *, count: int, seed: int) -> Sequence[str]:
    """`count` devices drawn by utility from those near the best."""
    if count <= 0:
        return ()
    last = sorted(utilities.values(), reverse=True)[count - 1]
    near = {device: max(LEAST, utility) for device, utility in utilities.items() if utility >= CUT_OFF * last}
    return drawn(near, count=count, seed=seed)
