"""A canary group's part in a roll-out: a device tries a candidate and tells how it does against the champion."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram
from coterie_wire.message import Identifier, Message, Seconds, Share


class Trial(Message, frozen=True):
    """Compare the candidate, which the device is to hold, with the champion on samples of the device's own."""

    rollout: Identifier
    candidate: Identifier
    """Its version."""
    champion: SignedManifest


class ShadowTrial(Message, frozen=True):
    """Let the candidate answer beside the version that the device holds, which alone is shown; then compare them."""

    rollout: Identifier
    candidate: SignedManifest
    remaining_s: Seconds
    """Until the outcome is wanted; 0: now."""


class Fit(Message, frozen=True):
    """How a version does on the samples that the device holds out."""

    loss: Annotated[float, Meta(ge=-1e9, le=1e9)]
    """Mean over the samples."""
    accuracy: Share | None = None
    """Share that is right; None: the task has no right and wrong."""


class TrialFigures(Message, frozen=True):
    """Both versions on the same samples."""

    samples: Annotated[int, Meta(ge=1, le=2**53)]
    champion: Fit
    candidate: Fit


class Shadowed(Message, frozen=True):
    """How the candidate's answers to programs on the device compared with those that were shown."""

    agreement: Share
    """Share of the answers that say the same."""
    champion: Histogram
    """Durations of runs of what was shown, scaled as in `coterie_wire.latency.Latency`."""
    candidate: Histogram
    """Of the candidate, on the same samples."""


class ReportTrial(Message, frozen=True):
    """The outcome of a device's trial: a comparison, or why the candidate cannot be used there; told once."""

    rollout: Identifier
    compared: TrialFigures | None = None
    fault: Reason | None = None
    shadowed: Shadowed | None = None
    """Where the candidate has answered beside; None: it has not, or nobody has asked."""

    def __post_init__(self) -> None:
        if (self.compared is None) is (self.fault is None):
            raise ValueError("a report holds either a comparison or a fault")
