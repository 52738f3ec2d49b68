"""Convolution, plain and transposed."""

from coterie.learning.compile.call import Call, Table
from coterie.learning.compile.operators.depthwise import depthwise, is_quicker_by_rows

TABLE = Table()


@TABLE.lowers("convolution.default")
def convolution(call: Call) -> str:
    if is_quicker_by_rows(call):
        return depthwise(call)
    padding = call.ints("padding")
    spatial: dict[str, int | list[int]] = {
        "strides": call.ints("stride"),
        "pads": padding + padding,
        "dilations": call.ints("dilation"),
        "group": call.whole("groups"),
    }
    inputs = [call["input"], call["weight"], *([call["bias"]] if call.arguments["bias"] is not None else [])]
    if call.arguments["transposed"]:
        return call.emit.op("ConvTranspose", *inputs, **spatial, output_padding=call.ints("output_padding"))
    return call.emit.op("Conv", *inputs, **spatial)
