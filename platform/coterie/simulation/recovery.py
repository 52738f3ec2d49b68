"""Batches that a device takes to be as accurate again as before a change of its data."""

from collections.abc import Sequence

BATCHES = 3
"""Over which an error is averaged."""
BEFORE = 10
"""Batches before the change that say how good the device was."""
TOLERANCE = 0.05
GOOD = 0.10
"""An error that is good enough whatever it was before."""
ROUNDING = 1e-9
"""A tenth is not worse than a tenth."""


def batches_to_recover(errors: Sequence[float], *, shift: int, until: int) -> int | None:
    """From batch `shift` to the first that begins three whose mean error is at most max(0.10, error before + 0.05).

    `errors` are those of a device's batches; None where that is not before batch `until`.
    """
    before = errors[max(0, shift - BEFORE) : shift]
    limit = max(GOOD, (sum(before) / len(before) if before else 0.0) + TOLERANCE)
    for batch in range(shift, min(until, len(errors)) - BATCHES + 1):
        if sum(errors[batch : batch + BATCHES]) / BATCHES <= limit + ROUNDING:
            return batch - shift
    return None
