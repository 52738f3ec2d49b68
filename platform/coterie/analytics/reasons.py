"""What questions wait for, and how they ended."""

from coterie_wire.conditions import Reason

CANCELLED = Reason("analytics.cancelled", "an operator cancelled it before it was answered")
CLOSED = Reason("analytics.closed", "the question takes no more answers")


def joining(*, joined: int, wanted: int) -> Reason:
    """It is open."""
    return Reason("analytics.joining", f"{joined} devices have joined, of {wanted} at most")


def too_few(*, joined: int, needed: int) -> Reason:
    """It failed, and nothing was read."""
    return Reason("analytics.too_few", f"{joined} devices joined in time, and the sum is of {needed} at least")


def answered(devices: int) -> Reason:
    """It is answered."""
    return Reason("analytics.answered", f"{devices} devices are counted")
