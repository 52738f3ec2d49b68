"""The report of a pre-flight on a pair that it accepts."""

from collections.abc import Mapping

import msgspec

from coterie.compile.device_classes import DeviceEstimate


class PairReport(msgspec.Struct, frozen=True):
    """Sizes, what was measured while the device model trained, and estimates for devices."""

    device_parameters: int
    """How many numbers the device model trains."""
    cloud_parameters: int | None
    """None where there was no cloud model."""
    teacher_problem: str | None
    """Why devices cannot learn from the cloud model; None where they can, or where there is none."""
    operators: Mapping[str, int]
    """Of the train step: how often each ONNX operator occurs, the most frequent first."""
    train_step_bytes: int
    predict_bytes: int
    parameters_bytes: int
    """What a device downloads with each version."""
    frozen_bytes: int
    """Size of the recipe's frozen tensors, downloaded once."""
    step_s: float
    """Median time of one train step on one thread of the checking machine, in seconds."""
    step_memory_bytes: int
    """Peak memory of a train step: graph, parameters, optimiser state, a batch and all intermediate tensors."""
    process_memory_bytes: int
    """Peak memory of the training process, with Python, NumPy and onnxruntime."""
    gflops: float
    """Float32 matrix products on one thread of the checking machine, in 10^9 operations a second."""
    devices: tuple[DeviceEstimate, ...]
    cloud_splits: tuple[str, ...] | None = None
    """Modules before which the cloud model can be split between workers, in order; blank: a place where none
    begins. None: there was no cloud model.
    """
    cloud_obstacle: str = ""
    """The reason why it cannot be split at more places."""
