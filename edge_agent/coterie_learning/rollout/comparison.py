"""The combined reports of a canary group."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_wire.trial import Fit


class Comparison(NamedTuple):
    """Means over devices: shares of wrong samples, or losses where right and wrong are undefined for the task."""

    champion: float
    candidate: float
    is_loss: bool

    @property
    def excess(self) -> float:
        """Increase of the candidate's error: the difference of error rates, or the relative increase of losses."""
        if not self.is_loss:
            return self.candidate - self.champion
        return self.candidate / self.champion - 1 if self.champion > 0 else float(self.candidate > 0)


def compare(pairs: Sequence[tuple[Fit, Fit]]) -> Comparison | None:
    """The means of the champion's and the candidate's fit over devices; None where no device has reported them."""
    if not pairs:
        return None
    is_loss = any(fit.accuracy is None for pair in pairs for fit in pair)
    champion, candidate = (
        sum(fit.loss if is_loss or fit.accuracy is None else 1 - fit.accuracy for fit in fits) / len(pairs)
        for fits in zip(*pairs, strict=True)
    )
    return Comparison(champion, candidate, is_loss)
