"""A few figures of a simulation, small enough to be shown of every row of a list."""

from collections.abc import Sequence

import msgspec

DRAWN = 32
"""Accuracies at most."""


class SimulationFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The results of a simulation in short."""

    accuracy: float
    """Of the last version, on held-out samples."""
    accuracies: tuple[float, ...]
    """The accuracy of at most `DRAWN` rounds, in their order, the first and the last among them."""
    device_accuracy_median: float | None
    """Of the last version, over devices, each on its own samples; None: it was not measured."""
    device_accuracy_worst_decile: float | None
    """Mean over the worst tenth of devices."""
    bytes_per_device: float
    """Up and down with framing, over all rounds, for a device that took part."""
    joules_per_device: float
    """Of radio and processor."""


def drawn(accuracies: Sequence[float]) -> tuple[float, ...]:
    """At most `DRAWN` of them, evenly spread, the first and the last among them."""
    if len(accuracies) <= DRAWN:
        return tuple(accuracies)
    return tuple(accuracies[place * (len(accuracies) - 1) // (DRAWN - 1)] for place in range(DRAWN))
