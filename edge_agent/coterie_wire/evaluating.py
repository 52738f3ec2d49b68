"""Federated evaluation: a device measures a version on samples that it holds out, and tells the figures alone."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.message import Identifier, Message, Seconds
from coterie_wire.trial import Fit


class Evaluate(Message, frozen=True):
    """Measure a version, whichever the device holds, when its conditions allow it."""

    evaluation: Identifier
    manifest: SignedManifest
    """Of the version."""
    remaining_s: Seconds
    """Until the evaluation ends with what has come."""


class ReportEvaluation(Message, frozen=True):
    """What a device has measured, or why it cannot; told once."""

    evaluation: Identifier
    samples: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """Held-out samples that were measured."""
    fit: Fit | None = None
    fault: Reason | None = None

    def __post_init__(self) -> None:
        if (self.fit is None) is (self.fault is None) or (self.fit is None) is (self.samples > 0):
            raise ValueError("a report holds either figures and of how many samples they are, or a fault")
