"""Comparisons of a device's personal model with the version, which people read and nothing is decided by."""

from typing import Annotated

from msgspec import Meta

from coterie_wire.message import Identifier, Message, Share


class ReportPersonal(Message, frozen=True):
    """Accuracy of the personal model and of a version on held-out samples; replaces the device's earlier report."""

    federation: Annotated[str, Meta(max_length=100)]
    version: Identifier
    """ID of the version that the device had."""
    answers: bool
    """Whether predictions on the device come from the personal model; else from the version."""
    samples: Annotated[int, Meta(ge=1, le=2**53)]
    """Number of held-out samples; rounded where the owner wants less to be reported."""
    version_accuracy: Share | None = None
    """Accuracy of the version; None: the task has no accuracy."""
    own_accuracy: Share | None = None
    """Accuracy of the model that predicts on the device; None: the task has no accuracy."""
