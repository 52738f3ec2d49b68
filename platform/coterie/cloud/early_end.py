"""Stops a training early when its loss curve shows that the rest is not worth its time.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): three quarters of Philly's jobs came within 0.1 % of their lowest loss
in 40 % of their epochs. There the remedy is a threshold on the last epochs' gain; here the rate of the last epochs is
extrapolated to the end of the job. A curve flattens as it falls, so a job would gain less than that.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal, NamedTuple

FEWEST_EPOCHS = 3
SHARE_OF_EPOCHS = 0.05


class Ending(NamedTuple):
    """Why a job ends early."""

    kind: Literal["flat", "failed"]
    sentence: str


def early_end(losses: Sequence[float], epochs: int, least_gain: float) -> Ending | None:
    """Whether a job with these `losses` stops before its `epochs` are over; None: it continues.

    `least_gain` is the share of its least loss that the remaining epochs must promise; 0: a job never stops early.
    """
    window, done = max(FEWEST_EPOCHS, math.ceil(SHARE_OF_EPOCHS * epochs)), len(losses)
    if least_gain == 0 or done < 2 * window or done >= epochs:
        return None
    last, former = losses[-window:], losses[-2 * window : -window]
    if min(last) > losses[0]:
        return Ending("failed", f"in each of the last {window} epochs the loss was above that of the first")
    best = min(losses)
    pace = max(fmean(former) - fmean(last), min(losses[:-window]) - best, 0.0) / window
    promised = pace * (epochs - done)
    if promised >= least_gain * abs(best):
        return None
    share = promised / abs(best) if best else 0.0
    return Ending(
        "flat",
        f"it ended after {done} of {epochs} epochs: at its pace the others would have gained {share:.2%} of the loss",
    )
