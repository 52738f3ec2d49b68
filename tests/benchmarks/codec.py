"""How quickly updates are encoded and decoded, and how small they are, on one thread."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.benchmarks.report import Figure

SIZES = {"CNN of 22 k parameters": 246, "CNN of 250 k parameters": 3_800}
"""Width of the first fully connected layer, the part that differs."""
CODECS = {"float32": Float32Codec(), "int8 by tensor": Int8(granularity="tensor"), "int8 by channel": Int8()}
REPEATS = 100


def measure() -> list[Figure]:
    """Speeds in MB of float32 parameters per second; sizes with everything counted."""
    figures = []
    for model, width in SIZES.items():
        update = _update(width)
        specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
        megabytes = sum(tensor.nbytes for tensor in update.values()) / 1e6
        plain = len(Float32Codec().encode(update, seed=0).payload)
        for name, codec in CODECS.items():
            case = f"{model}, {name}"
            payload = codec.encode(update, seed=0).payload
            encode_s = _seconds(lambda codec=codec, update=update: codec.encode(update, seed=0))
            decode_s = _seconds(lambda codec=codec, payload=payload, specs=specs: codec.decode(payload, expected=specs))
            figures += [
                Figure(case, "size", len(payload), "bytes", f"float32, {plain} bytes", plain / len(payload)),
                Figure(case, "encode", megabytes / encode_s, "MB/s"),
                Figure(case, "decode", megabytes / decode_s, "MB/s"),
            ]
    return figures


def _update(width: int) -> Tensors:
    shapes = {
        "conv1.weight": (16, 1, 3, 3),
        "conv1.bias": (16,),
        "conv2.weight": (32, 16, 3, 3),
        "conv2.bias": (32,),
        "fc1.weight": (64, width),
        "fc1.bias": (64,),
        "fc2.weight": (10, 64),
        "fc2.bias": (10,),
    }
    source = np.random.default_rng(0)
    return {name: (source.standard_normal(shape) * 0.01).astype(np.float32) for name, shape in shapes.items()}


def _seconds(action: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return median(times)
