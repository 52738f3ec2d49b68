"""Estimates of what a model needs on the usual kinds of devices, from what a train step takes on this machine.

A class's speed is that of one core at float32 matrix products. For the Raspberry Pi 4 and 5 it is a quarter (they have
four cores) of the published High-Performance Linpack figures in double precision, 11.9 and 30.2 GFLOP/s
(github.com/geerlingguy/top500-benchmark), times two (a float32 vector holds twice as many numbers). The Raspberry Pi 3
has in-order cores with half the vector units of the 4's: a little over a third of its speed. A mid-range phone has
cores like the 5's. A step's time is that of this machine times the ratio of both speeds at matrix products. Small
models spend their time on other operations, at which small cores are less behind: they take less than estimated.

Memory is what training may take without starving other processes: half of the smallest usual memory of a Raspberry Pi,
a quarter of a phone's 4 GB, because Android ends large processes in the background.
"""

from typing import NamedTuple

import msgspec

MB = 10**6


class DeviceClass(NamedTuple):
    """A kind of device."""

    name: str
    memory_bytes: int
    """Memory available to training."""
    gflops: float
    """One core at float32 matrix products, in 10^9 operations a second."""


DEVICE_CLASSES = (
    DeviceClass("Raspberry Pi 3", 500 * MB, 2.2),
    DeviceClass("Raspberry Pi 4", 1000 * MB, 5.9),
    DeviceClass("Raspberry Pi 5", 2000 * MB, 15.1),
    DeviceClass("phone", 1000 * MB, 15.0),
)


class DeviceEstimate(msgspec.Struct, frozen=True):
    """The estimate for one class of devices."""

    device: str
    memory_bytes: int
    """Memory available to training there."""
    fits: bool
    """Whether the training process needs no more than that."""
    step_s: float
    """Seconds a train step on one core."""


def estimate_devices(*, step_s: float, process_memory_bytes: int, gflops: float) -> tuple[DeviceEstimate, ...]:
    """For each class, from the cost of a step on this machine, one core of which does `gflops` at matrix products."""
    return tuple(
        DeviceEstimate(
            device=device.name,
            memory_bytes=device.memory_bytes,
            fits=process_memory_bytes <= device.memory_bytes,
            step_s=step_s * gflops / device.gflops,
        )
        for device in DEVICE_CLASSES
    )
