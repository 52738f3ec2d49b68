"""Pooling, and the gradient of max-pooling."""

import math

import numpy as np
import torch

from coterie.compile.call import Call, OperatorTable
from coterie.compile.operators.shapes import target_shape

TABLE = OperatorTable()


@TABLE.lowers("max_pool2d.default")
def max_pool(call: Call) -> str:
    return _pool(call, "MaxPool", dilations=pair(call.ints("dilation")))


@TABLE.lowers("avg_pool2d.default")
def average_pool(call: Call) -> str:
    if call.arguments["divisor_override"] is not None:
        raise NotImplementedError("an average with its own divisor")
    return _pool(call, "AveragePool", count_include_pad=int(bool(call.arguments["count_include_pad"])))


@TABLE.lowers("max_pool2d_with_indices.default")
def max_pool_with_places(call: Call) -> tuple[str, ...]:
    """The second result is the maxima again, with which the gradient compares."""
    for part in call.node.users:
        if part.args[1] == 1 and any("with_indices_backward" not in str(user.target) for user in part.users):
            raise NotImplementedError("indices of a pool, used otherwise than in its gradient")
    pooled = _pool(call, "MaxPool", dilations=pair(call.ints("dilation")))
    return pooled, pooled


@TABLE.lowers("max_pool2d_with_indices_backward.default")
def max_pool_gradient(call: Call) -> str:
    """Each window's gradient goes to its first greatest element; the windows tile the image.

    An element equal to its window's greatest is marked with its place, counted from the end of the image, so that the
    greatest mark of a window is that of the first such element.
    """
    emit, kernel = call.emit, pair(call.ints("kernel_size"))
    height, width = (int(size) for size in call.result.shape[-2:])
    planes = math.prod(int(size) for size in call.result.shape[:-2])
    scales = emit.constant(np.array([*[1] * (call.result.dim() - 2), *kernel], np.float32))
    modes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    spread = emit.op("Resize", call.raw("indices"), "", scales, **modes)
    greatest = emit.cast(emit.op("Equal", call["self"], spread), call.dtype)
    marks = np.arange(height * width, 0, -1, dtype=np.float32).reshape(height, width)
    marked = emit.op("Mul", greatest, emit.constant(marks))
    flat = emit.op("Reshape", marked, emit.ints([planes, 1, height, width]))
    first = emit.op("MaxPool", flat, kernel_shape=kernel, strides=kernel)
    ends = (np.arange(1, planes + 1) * height * width).reshape(planes, 1, 1, 1)
    places = emit.op("Sub", emit.constant(ends), emit.cast(first, torch.int64))
    pooled = emit.ints([planes, 1, height // kernel[0], width // kernel[1]])
    gradient = emit.op("Reshape", call["grad_output"], pooled)
    shape = emit.ints([planes, 1, height, width])
    spread_gradient = emit.op("MaxUnpool", gradient, places, shape, kernel_shape=kernel, strides=kernel)
    return emit.op("Reshape", spread_gradient, emit.shape(call.shape))


def _pool(call: Call, onnx_name: str, **attributes: int | list[int]) -> str:
    """Plane by plane: with its channels, onnxruntime would reorder the image into blocks of channels and back."""
    kernel, padding = pair(call.ints("kernel_size")), pair(call.ints("padding"))
    emit, size = call.emit, [int(edge) for edge in call.tensor("self").shape[-2:]]
    pooled = emit.op(
        onnx_name,
        emit.op("Reshape", call["self"], emit.ints([-1, 1, *size])),
        kernel_shape=kernel,
        strides=pair(call.ints("stride") or kernel),
        pads=padding + padding,
        ceil_mode=int(bool(call.arguments["ceil_mode"])),
        **attributes,
    )
    return emit.op("Reshape", pooled, target_shape(call, call.shape))


def pair(sizes: list[int]) -> list[int]:
    return sizes * 2 if len(sizes) == 1 else sizes
