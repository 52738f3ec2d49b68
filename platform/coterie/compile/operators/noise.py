"""Random numbers that are a function of the input ``seed`` and of where they are drawn.

ONNX's own generators take no seed as an input, and differ between runtimes. Ours uses arithmetic on integers below
2**52 in double precision, which no runtime rounds: each element's number is squared modulo a prime, twice, with
constants that differ by operator and by seed (counter-based generators: Salmon et al. 2011, doi
10.1145/2063384.2063405; quadratic maps: Blum, Blum and Shub 1986, doi 10.1137/0215025). It is meant for dropout, not
for cryptography.
"""

import hashlib
import math

import numpy as np
import torch
from torch.fx import GraphModule

from coterie.compile.call import Call, OperatorTable
from coterie.compile.emitter import Emitter, Size

TABLE = OperatorTable()
SEED = "seed"
"""The name of the input: int64 [], at least 0 and below 2**52."""
HALF = 2**26
PRIME = 2**25 - 39
"""The sum of two smaller numbers has a square below 2**52."""
SPREAD = 12_345_701
"""The difference between neighbouring elements' numbers, modulo PRIME."""
DRAWS = ("aten.bernoulli.p", "aten.rand.default", "aten.rand_like.default", "aten.native_dropout.default")


def draws_noise(module: GraphModule) -> bool:
    """Whether a graph draws random numbers."""
    return any(str(node.target) in DRAWS for node in module.graph.nodes)


@TABLE.lowers("bernoulli.p")
def bernoulli(call: Call) -> str:
    """One with probability p: the mask of dropout."""
    below = call.emit.scalar(float(call.number("p")) * PRIME, torch.float64)
    return call.emit.cast(call.emit.op("Less", _numbers(call), below), call.dtype)


@TABLE.lowers("native_dropout.default")
def dropout(call: Call) -> tuple[str, str]:
    """The kept elements, scaled up, and the mask; attention uses this form of dropout."""
    emit, share = call.emit, 1 - float(call.number("p"))
    if not call.arguments["train"] or share == 0:
        raise NotImplementedError("it drops nothing, or everything")
    mask = emit.op("Less", _numbers(call), _constant(emit, share * PRIME))
    scale = emit.op("Mul", emit.cast(mask, call.dtype), emit.scalar(1 / share, call.dtype))
    return emit.op("Mul", call["input"], scale), mask


@TABLE.lowers("rand.default", "rand_like.default")
def random_like(call: Call) -> str:
    """Uniform in [0, 1), in steps of 2**-25."""
    share = call.emit.op("Mul", _numbers(call), call.emit.scalar(1 / PRIME, torch.float64))
    return call.emit.cast(share, call.dtype)


def _numbers(call: Call) -> str:
    """An integer below PRIME for each element, in double precision."""
    emit, sizes = call.emit, call.shape
    keys = _keys(call)
    rows, columns = (sizes[0], math.prod(sizes[1:])) if len(sizes) > 1 else (1, math.prod(sizes))
    # An element is the sum of its row's and its column's number: as many steps as rows and columns, not elements.
    row = _mix(emit, _counted(emit, rows, 1, keys[0]), keys[1])
    column = _mix(emit, _counted(emit, columns, 0, keys[1]), keys[2])
    mixed = _squared(emit, emit.op("Add", row, column))
    return emit.op("Reshape", _mix(emit, mixed, keys[0]), emit.shape(sizes))


def _keys(call: Call) -> tuple[str, str, str]:
    """Three numbers below PRIME that depend on the seed and on the node."""
    emit = call.emit
    seed = emit.cast(SEED, torch.float64)
    high = emit.op("Floor", emit.op("Mul", seed, _constant(emit, 1 / HALF)))
    low = emit.op("Sub", seed, emit.op("Mul", high, _constant(emit, HALF)))
    words = np.frombuffer(hashlib.sha256(call.node.name.encode()).digest(), "<u4").astype(np.float64) % PRIME
    key = _constant(emit, words[0])
    found = []
    for word, half in zip(words[1:7], (low, high, low, high, low, high), strict=True):
        key = _mix(emit, _remainder(emit, emit.op("Add", key, half)), _constant(emit, word))
        found.append(key)
    return found[1], found[3], found[5]


def _counted(emit: Emitter, count: Size, axis: int, key: str) -> str:
    """A number for each of `count` places, [count, 1] or [1, count] by `axis`."""
    last = _constant(emit, count + 1) if isinstance(count, int) else emit.number(count + 1, torch.float64)
    places = emit.op("Range", _constant(emit, 1), last, _constant(emit, 1))
    column = emit.op("Unsqueeze", places, emit.ints([axis]))
    spread = _remainder(emit, emit.op("Mul", column, _constant(emit, SPREAD)))
    return _remainder(emit, emit.op("Add", spread, key))


def _mix(emit: Emitter, value: str, key: str) -> str:
    """(value + key)² mod PRIME."""
    return _squared(emit, emit.op("Add", value, key))


def _squared(emit: Emitter, value: str) -> str:
    """The square of a number below 2·PRIME, modulo PRIME."""
    return _remainder(emit, emit.op("Mul", value, value))


def _remainder(emit: Emitter, value: str) -> str:
    """`value`, below 2**52, less the multiple of PRIME that one multiplication finds: in [-1, PRIME]."""
    whole = emit.op("Floor", emit.op("Mul", value, _constant(emit, 1 / PRIME)))
    return emit.op("Sub", value, emit.op("Mul", whole, _constant(emit, PRIME)))


def _constant(emit: Emitter, value: float) -> str:
    return emit.scalar(float(value), torch.float64)
