"""Whether a portion improved the target's model: both models are compared on its newest samples; the better is kept.

The samples are the same for both, so only those count on which they differ (McNemar 1947, doi 10.1007/BF02295996).
"""

import math
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

Share = Annotated[float, Meta(ge=0, le=1)]


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The target's accuracy before and after."""

    before: Share
    """Accuracy of the model without the portion."""
    after: Share
    """Accuracy with the portion."""
    kept: bool


def judge(labels: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64]) -> Judgement:
    """Compare predictions `before` and `after` [n] on samples with `labels` [n].

    The portion is kept where it corrects more samples than it breaks, by more than one standard error of that
    difference. After a tie or a difference within the noise it is undone: the previous model stays unless the new one
    is better.

    Raises ValueError where there are no samples.
    """
    if not len(labels):
        raise ValueError("nothing can be judged without samples")
    right_before, right_after = before == labels, after == labels
    won = int((right_after & ~right_before).sum())
    lost = int((right_before & ~right_after).sum())
    return Judgement(
        before=float(right_before.mean()), after=float(right_after.mean()), kept=won - lost > math.sqrt(won + lost)
    )
