"""What a pre-flight tells of a pair that it accepts."""

from collections.abc import Mapping

import msgspec

from coterie.compile.device_classes import DeviceEstimate


class PairReport(msgspec.Struct, frozen=True):
    """Sizes, what was measured while the device model trained, and what devices could take."""

    device_parameters: int
    """How many numbers the device model learns."""
    cloud_parameters: int | None
    """None where there was no cloud model."""
    teacher_problem: str | None
    """Why devices cannot learn from the cloud model itself; None where they can, or where there is none."""
    operators: Mapping[str, int]
    """Of the train step: how often each operator of ONNX stands in it, the most frequent first."""
    train_step_bytes: int
    predict_bytes: int
    parameters_bytes: int
    """What a device downloads with each version."""
    frozen_bytes: int
    """What the recipe freezes, downloaded once."""
    step_s: float
    """Median time of one train step on one thread of the machine that checked, in seconds."""
    step_memory_bytes: int
    """What a train step holds at most: graph, parameters, optimiser state, a batch and all intermediate tensors."""
    process_memory_bytes: int
    """The most that the training process held, with Python, NumPy and onnxruntime."""
    gflops: float
    """Float32 matrix products on one thread of the machine that checked, in 10^9 operations a second."""
    devices: tuple[DeviceEstimate, ...]
    cloud_splits: tuple[str, ...] | None = None
    """Modules before which the cloud model can be split between workers, in order; blank: where none begins.

    None: there was no cloud model.
    """
    cloud_obstacle: str = ""
    """What keeps it from being split at more places."""
