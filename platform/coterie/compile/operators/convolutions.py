"""Convolution, plain and transposed.

onnxruntime computes a plain convolution from as many copies of its input as the kernel has taps, and a transposed one
from as many copies of its output. Without strides each is the other with the kernel flipped, so that the smaller number
of channels can be copied.
"""

from coterie.compile.call import Call, OperatorTable
from coterie.compile.operators.depthwise import depthwise, is_quicker_by_rows
from coterie.compile.operators.shapes import target_shape
from coterie.compile.patches import picks

TABLE = OperatorTable()


@TABLE.lowers("convolution.default")
def convolution(call: Call) -> str:
    if is_quicker_by_rows(call):
        return depthwise(call)
    weight, transposed, pads = call["weight"], bool(call.arguments["transposed"]), call.ints("padding") * 2
    spare = call.ints("output_padding") if transposed else [0] * len(call.ints("stride"))
    if _is_quicker_the_other_way(call):
        weight, margins = _turned(call, weight), _margins(call)
        transposed, pads = not transposed, [*margins, *(map(sum, zip(margins, spare, strict=True)))]
        spare = [0] * len(margins)
    inputs = [call["input"], weight, *([call["bias"]] if call.arguments["bias"] is not None else [])]
    spatial: dict[str, int | list[int]] = {
        "strides": call.ints("stride"),
        "pads": pads,
        "dilations": call.ints("dilation"),
        "group": call.whole("groups"),
    }
    if transposed:
        return call.emit.op("ConvTranspose", *inputs, **spatial, output_padding=spare)
    return call.emit.op("Conv", *inputs, **spatial)


@TABLE.lowers("coterie.patches.default")
def cut_patches(call: Call) -> str:
    emit, x, kernel = call.emit, call.tensor("x"), call.ints("kernel")
    alone = emit.op("Reshape", call["x"], target_shape(call, (x.shape[:2].numel(), 1, *x.shape[2:])))
    return emit.op(
        "Conv",
        alone,
        emit.constant(picks(kernel).numpy()),
        strides=call.ints("stride"),
        pads=call.ints("padding") * 2,
        dilations=call.ints("dilation"),
    )


def _is_quicker_the_other_way(call: Call) -> bool:
    if any(step != 1 for step in call.ints("stride")) or call.whole("groups") != 1 or min(_margins(call)) < 0:
        return False
    transposed = bool(call.arguments["transposed"])
    if call.tensor("weight")[0, 0].numel() == 1:
        return transposed  # a plain one copies nothing
    taken, given = int(call.tensor("input").shape[1]), int(call.result.shape[1])
    return taken <= given if transposed else taken > given


def _margins(call: Call) -> list[int]:
    """How far the flipped kernel reaches beyond the input, for each axis."""
    kernel = [int(size) for size in call.tensor("weight").shape[2:]]
    moves = zip(kernel, call.ints("dilation"), call.ints("padding"), strict=True)
    return [dilation * (size - 1) - padding for size, dilation, padding in moves]


def _turned(call: Call, weight: str) -> str:
    """[filters, channels, *kernel] as [channels, filters, *kernel], the last tap first."""
    emit, kernel = call.emit, call.tensor("weight").shape[2:]
    axes = [axis for axis, size in enumerate(kernel, start=2) if size != 1]
    swapped = emit.op("Transpose", weight, perm=[1, 0, *range(2, 2 + len(kernel))])
    if not axes:
        return swapped
    ends = [-int(size) - 1 for size in kernel if size != 1]
    return emit.op("Slice", swapped, *(emit.ints(v) for v in ([-1] * len(axes), ends, axes, [-1] * len(axes))))
