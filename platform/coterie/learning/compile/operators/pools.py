"""Pooling, and the gradient of max-pooling."""

import numpy as np
from torch import Tensor

from coterie.learning.compile.call import Call, Table

TABLE = Table()


@TABLE.lowers("max_pool2d.default")
def max_pool(call: Call) -> str:
    return _pool(call, "MaxPool", dilations=call.ints("dilation"))[0]


@TABLE.lowers("avg_pool2d.default")
def average_pool(call: Call) -> str:
    if call.arguments["divisor_override"] is not None:
        raise NotImplementedError("an average with its own divisor")
    return _pool(call, "AveragePool", count_include_pad=int(bool(call.arguments["count_include_pad"])))[0]


@TABLE.lowers("max_pool2d_with_indices.default")
def max_pool_with_places(call: Call) -> tuple[str, ...]:
    """Second come the greatest values again, or their places as ONNX counts them; both are for the gradient alone."""
    for part in call.node.users:
        if part.args[1] == 1 and any("with_indices_backward" not in str(user.target) for user in part.users):
            raise NotImplementedError("indices of a pool, used otherwise than in its gradient")
    if _tiles(call, call.tensor("self")):
        (pooled,) = _pool(call, "MaxPool")
        return pooled, pooled
    return _pool(call, "MaxPool", outputs=2, dilations=call.ints("dilation"))


@TABLE.lowers("max_pool2d_with_indices_backward.default")
def max_pool_gradient(call: Call) -> str:
    """Each window's gradient goes to its first greatest element."""
    return _gradient_by_comparison(call) if _tiles(call, call.result) else _gradient_by_place(call)


def _tiles(call: Call, pooled_from: Tensor) -> bool:
    """Whether the windows cover the input without overlap or rest."""
    kernel = pair(call.ints("kernel_size"))
    return (
        pair(call.ints("stride") or kernel) == kernel
        and not any(call.ints("padding"))
        and all(step == 1 for step in call.ints("dilation"))
        and all(size % edge == 0 for size, edge in zip(pooled_from.shape[2:], kernel, strict=True))
    )


def _gradient_by_comparison(call: Call) -> str:
    """Compares the input with its window's greatest; where several are equal, the one with the highest rank wins."""
    emit, kernel = call.emit, pair(call.ints("kernel_size"))
    height, width = (int(size) for size in call.result.shape[2:])
    ranks = np.arange(kernel[0] * kernel[1], 0, -1, dtype=np.float32).reshape(kernel)
    tiled = np.tile(ranks, (height // kernel[0], width // kernel[1]))[None, None]
    scales = emit.constant(np.array([1, 1, *kernel], np.float32))

    def spread(value: str) -> str:
        """A window's value at each of its elements."""
        modes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
        return emit.op("Resize", value, "", scales, **modes)

    greatest = emit.cast(emit.op("Equal", call["self"], spread(call.raw("indices"))), call.dtype)
    ranked = emit.op("Mul", greatest, emit.constant(tiled))
    best = emit.op("MaxPool", ranked, kernel_shape=kernel, strides=kernel)
    first = emit.cast(emit.op("Equal", ranked, spread(best)), call.dtype)
    return emit.op("Mul", first, spread(call["grad_output"]))


def _gradient_by_place(call: Call) -> str:
    """Adds at the places that ONNX's pool gave, counted over the whole tensor."""
    emit, flat = call.emit, call.emit.ints([-1])
    zeros = emit.op("Expand", emit.scalar(0, call.dtype), emit.ints([call.result.numel()]))
    gradient = emit.op("Reshape", call["grad_output"], flat)
    places = emit.op("Reshape", call.raw("indices"), flat)
    summed = emit.op("ScatterElements", zeros, places, gradient, axis=0, reduction="add")
    return emit.op("Reshape", summed, emit.shape(call.shape))


def _pool(call: Call, onnx_name: str, outputs: int = 1, **attributes: int | list[int]) -> tuple[str, ...]:
    kernel = pair(call.ints("kernel_size"))
    padding = pair(call.ints("padding"))
    return call.emit.ops(
        onnx_name,
        outputs,
        call["self"],
        kernel_shape=kernel,
        strides=pair(call.ints("stride") or kernel),
        pads=padding + padding,
        ceil_mode=int(bool(call.arguments["ceil_mode"])),
        **attributes,
    )


def pair(sizes: list[int]) -> list[int]:
    return sizes * 2 if len(sizes) == 1 else sizes
