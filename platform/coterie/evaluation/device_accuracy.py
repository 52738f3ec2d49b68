"""Accuracies over devices: for most of them, and for the worst."""

from collections.abc import Sequence

import msgspec
import numpy as np

TENTH = 10


class DeviceAccuracy(msgspec.Struct, frozen=True):
    """Over devices, each counted once whatever it has of samples."""

    mean: float
    median: float
    worst_decile: float
    """Mean of the worst tenth, of one device at least."""


def device_accuracy(accuracies: Sequence[float]) -> DeviceAccuracy:
    """Of one device at least."""
    worst = sorted(accuracies)[: max(1, len(accuracies) // TENTH)]
    return DeviceAccuracy(float(np.mean(accuracies)), float(np.median(accuracies)), float(np.mean(worst)))
