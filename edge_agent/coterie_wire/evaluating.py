"""Federated evaluation: a device evaluates a version on its held-out samples and reports the metrics alone."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.message import Identifier, Message, Seconds
from coterie_wire.trial import Fit


class Evaluate(Message, frozen=True):
    """Evaluate a version, which need not be the one that the device has, when its conditions allow it."""

    evaluation: Identifier
    manifest: SignedManifest
    """Manifest of the version to evaluate."""
    remaining_s: Seconds
    """Seconds until the evaluation ends with the reports that have arrived."""


class ReportEvaluation(Message, frozen=True):
    """A device's metrics, or why it cannot evaluate the version; sent once."""

    evaluation: Identifier
    samples: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """Number of held-out samples that were evaluated."""
    fit: Fit | None = None
    """Metrics of the version; None where there is a `fault`."""
    fault: Reason | None = None
    """Why the version was not evaluated; None where there is a `fit`."""

    def __post_init__(self) -> None:
        if (self.fit is None) is (self.fault is None) or (self.fit is None) is (self.samples > 0):
            raise ValueError("a report holds either figures and of how many samples they are, or a fault")
