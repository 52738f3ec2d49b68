"""Drift detectors: when does a model's error rate rise? One module a detector; they read error rates, never a clock."""

from typing import NamedTuple

import msgspec

from coterie_learning.kinds import Kind


class Observed(NamedTuple):
    """The state of a detector, and whether the latest batch showed drift."""

    state: "DriftState"
    drifted: bool


class DriftState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="detector"):
    """A detector's state with its settings, so that a stored state continues unchanged; it has its detector's tag."""

    settings: "Detector"

    def observe(self, wrong: int, samples: int) -> Observed:
        """The state after a batch of `samples`, of which the model predicted `wrong` wrongly before it trained on them.

        Raises ValueError unless 0 <= wrong <= samples and samples > 0.
        """
        raise NotImplementedError


class Detector(Kind, frozen=True):
    """Settings of one method to detect that errors have become more frequent."""

    def begin(self) -> DriftState:
        """The state before any batch."""
        raise NotImplementedError


def error_rate(wrong: int, samples: int) -> float:
    """Share of a batch that was classified wrongly.

    Raises ValueError unless 0 <= wrong <= samples and samples > 0.
    """
    if samples <= 0 or not 0 <= wrong <= samples:
        raise ValueError(f"{wrong} of {samples} samples cannot be wrong")
    return wrong / samples
