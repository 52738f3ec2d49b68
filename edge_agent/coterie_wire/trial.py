"""Trials of a canary group: a device compares a candidate with the champion and reports the metrics of both."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram
from coterie_wire.message import Identifier, Message, Seconds, Share


class Trial(Message, frozen=True):
    """Compare the candidate, which the device has been given, with the champion on the device's own samples."""

    rollout: Identifier
    candidate: Identifier
    """ID of the candidate's version."""
    champion: SignedManifest


class ShadowTrial(Message, frozen=True):
    """Run the candidate beside the version in use, whose predictions alone are shown, and compare both afterwards."""

    rollout: Identifier
    candidate: SignedManifest
    remaining_s: Seconds
    """Seconds until the outcome is wanted; 0: now."""


class Fit(Message, frozen=True):
    """Metrics of a version on the device's held-out samples."""

    loss: Annotated[float, Meta(ge=-1e9, le=1e9)]
    """Mean loss."""
    accuracy: Share | None = None
    """Accuracy, 0 to 1; None: the task has no accuracy."""


class TrialFigures(Message, frozen=True):
    """Metrics of both versions on the same samples."""

    samples: Annotated[int, Meta(ge=1, le=2**53)]
    champion: Fit
    candidate: Fit


class Shadowed(Message, frozen=True):
    """Comparison of the candidate's predictions for programs on the device with those that were shown."""

    agreement: Share
    """Share of equal predictions."""
    champion: Histogram
    """Durations of the champion's runs, scaled as in `coterie_wire.latency.Latency`."""
    candidate: Histogram
    """Durations of the candidate's runs on the same samples, scaled likewise."""


class ReportTrial(Message, frozen=True):
    """The outcome of a device's trial, sent once: a comparison, or why the candidate cannot be used on the device."""

    rollout: Identifier
    compared: TrialFigures | None = None
    fault: Reason | None = None
    shadowed: Shadowed | None = None
    """Comparison of predictions where the candidate ran beside the champion; None: it did not."""

    def __post_init__(self) -> None:
        if (self.compared is None) is (self.fault is None):
            raise ValueError("a report holds either a comparison or a fault")
