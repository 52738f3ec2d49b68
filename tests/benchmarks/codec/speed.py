"""How quickly updates are encoded and decoded, on one thread, and how small they are, in processor time."""

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int4 import Int4
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.one_bit import OneBit
from coterie_learning.codec.pruned import Pruned
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.codec.top_k import TopK
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.benchmarks.report import Figure

SIZES = {"22 k parameters": 246, "a million parameters": 15_500}
"""Width of the first fully connected layer, the part that differs."""
CODECS: tuple[Codec, ...] = (
    Float32Codec(),
    Int8(granularity="tensor"),
    Int8(),
    Int4(),
    Int4(granularity="tensor"),
    OneBit(),
    SparseLevels(),
    SparseLevels(step=4, feedback=True),
    TopK(),
    Pruned(),
    TopK(share=0.01, value="int8"),
)
REPEATS = 20
MOST_MS = 150.0
"""For encoding and decoding a million parameters."""


def speeds() -> Iterator[Figure]:
    """Milliseconds of processor time for each update; sizes with everything counted."""
    for model, width in SIZES.items():
        update = _update(width)
        specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
        millions = sum(tensor.size for tensor in update.values()) / 1e6
        plain = len(Float32Codec().encode(update, seed=0).payload)
        for codec in CODECS:
            case = f"{model}, {codec}"
            payload = codec.encode(update, seed=0).payload
            encode_s = _seconds(lambda codec=codec, update=update: codec.encode(update, seed=0))
            decode_s = _seconds(lambda codec=codec, payload=payload, specs=specs: codec.decode(payload, expected=specs))
            both = 1e3 * (encode_s + decode_s) / millions
            yield Figure(case, "size", len(payload), "bytes", f"float32, {plain} bytes", plain / len(payload))
            yield Figure(case, "encode", 1e3 * encode_s / millions, "ms a million")
            yield Figure(case, "decode", 1e3 * decode_s / millions, "ms a million")
            yield Figure(case, "both", both, "ms a million", f"target <= {MOST_MS:g} ms", MOST_MS / both)


def _update(width: int) -> Tensors:
    """Of heavy tails, as updates have them."""
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
    return {name: (source.standard_t(4, shape) * 0.01).astype(np.float32) for name, shape in shapes.items()}


def _seconds(action: Callable[[], object]) -> float:
    """Of the processor, the median of some runs: others share the machine."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return median(times)
