"""Depthwise convolution of narrow images as a matrix product for each channel and row of the kernel.

onnxruntime convolves each channel of each sample separately, one row of a matrix product at a time. A row of pixels
convolved by a row of the kernel is also a product with a banded matrix, and all rows of all samples share it.
"""

import numpy as np

from coterie.compile.call import Call

WIDTHS_OF_KERNEL = 6
"""Wasted work grows with the width of the image and the stride: faster up to 16 pixels for 3 taps, 32 for 5."""


def is_quicker_by_rows(call: Call) -> bool:
    """Whether each channel is convolved separately, by a kernel that is not much narrower than the image."""
    weight, groups = call.tensor("weight"), call.whole("groups")
    x = call.tensor("input")
    return (
        weight.dim() == 4
        and groups > 1
        and tuple(weight.shape[:2]) == (groups, 1)
        and int(x.shape[1]) == groups
        and max(int(x.shape[3]), int(call.shape[3])) * call.ints("stride")[0] <= WIDTHS_OF_KERNEL * int(weight.shape[3])
    )


def depthwise(call: Call) -> str:
    """[batch, channels, height, width], in the shape of the call's result."""
    emit, transposed = call.emit, bool(call.arguments["transposed"])
    x, kernel = call.tensor("input"), [int(size) for size in call.tensor("weight").shape[2:]]
    channels, (height, width), (rows, columns) = int(x.shape[1]), x.shape[2:], (int(size) for size in call.shape[2:])
    stride, padding, dilation = (call.ints(name) for name in ("stride", "padding", "dilation"))
    image = emit.op("Transpose", call["input"], perm=[1, 0, 2, 3])
    if transposed:
        # Rows a stride apart and the kernel upside down make it a plain convolution.
        image, height = _apart(call, image, int(height), stride[0])
        before, step = (kernel[0] - 1) * dilation[0] - padding[0], 1
    else:
        before, step = padding[0], stride[0]
    reach = (rows - 1) * step + 1
    after = reach + (kernel[0] - 1) * dilation[0] - before - int(height)
    image = _framed(call, image, before, after)
    matrices = _matrices(call, kernel, int(width), columns)
    products = []
    for row in range(kernel[0]):
        start = (kernel[0] - 1 - row if transposed else row) * dilation[0]
        ends = [emit.ints([bound]) for bound in (start, start + reach, 2, step)]
        seen = emit.op("Slice", image, *ends)
        flat = emit.op("Reshape", seen, emit.ints([channels, -1, int(width)]))
        products.append(emit.op("MatMul", flat, matrices[row]))
    total = products[0] if len(products) == 1 else emit.op("Sum", *products)
    stacked = emit.op("Reshape", total, emit.ints([channels, -1, rows, columns]))
    convolved = emit.op("Transpose", stacked, perm=[1, 0, 2, 3])
    if call.arguments["bias"] is None:
        return convolved
    return emit.op("Add", convolved, emit.op("Reshape", call["bias"], emit.ints([channels, 1, 1])))


def _matrices(call: Call, kernel: list[int], width: int, columns: int) -> tuple[str, ...]:
    """For each row of the kernel, [channels, width, columns]: the weight of each input pixel in each output pixel."""
    emit = call.emit
    (stride, padding, dilation) = (call.ints(name)[1] for name in ("stride", "padding", "dilation"))
    tap = np.arange(kernel[1]).reshape(-1, 1, 1) * dilation
    pixel, place = np.arange(width).reshape(1, -1, 1), np.arange(columns).reshape(1, 1, -1)
    # A transposed convolution scatters a pixel to where a plain one would gather from.
    big, small = (place, pixel) if call.arguments["transposed"] else (pixel, place)
    seen = (big == small * stride - padding + tap).astype(np.float32).reshape(kernel[1], -1)
    channels = int(call.tensor("weight").shape[0])
    weights = emit.op("Reshape", call["weight"], emit.ints([channels * kernel[0], kernel[1]]))
    bands = emit.op("MatMul", weights, emit.constant(seen))
    stacked = emit.op("Reshape", bands, emit.ints([channels, kernel[0], width, columns]))
    rows = emit.ops("Split", kernel[0], stacked, emit.ints([1] * kernel[0]), axis=1)
    return tuple(emit.op("Reshape", row, emit.ints([channels, width, columns])) for row in rows)


def _apart(call: Call, image: str, height: int, stride: int) -> tuple[str, int]:
    """`image` [channels, batch, height, width] with rows of zeros between its rows."""
    if stride == 1:
        return image, height
    emit, width = call.emit, int(call.tensor("input").shape[3])
    channels = int(call.tensor("input").shape[1])
    rows = emit.op("Reshape", image, emit.ints([channels, -1, 1, width]))
    padded = emit.op("Pad", rows, emit.ints([0, stride - 1]), emit.scalar(0, call.dtype), emit.ints([2]))
    spread = emit.op("Reshape", padded, emit.ints([channels, -1, height * stride, width]))
    return spread, height * stride


def _framed(call: Call, image: str, before: int, after: int) -> str:
    """With rows of zeros above and below; negative amounts cut rows off."""
    if not before and not after:
        return image
    emit = call.emit
    return emit.op("Pad", image, emit.ints([before, after]), emit.scalar(0, call.dtype), emit.ints([2]))
