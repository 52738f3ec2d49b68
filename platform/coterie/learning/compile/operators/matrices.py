"""Matrix products and convolution."""

from torch.fx.node import Node

from coterie.learning.compile.call import Call, Table

TABLE = Table()


@TABLE.lowers("mm.default")
def matrix_product(call: Call) -> str:
    left, left_flag = _untransposed(call, "self")
    right, right_flag = _untransposed(call, "mat2")
    if not left_flag and not right_flag:
        return call.emit.op("MatMul", left, right)
    return call.emit.op("Gemm", left, right, transA=left_flag, transB=right_flag)


@TABLE.lowers("addmm.default")
def biased_matrix_product(call: Call) -> str:
    left, left_flag = _untransposed(call, "mat1")
    right, right_flag = _untransposed(call, "mat2")
    scales = {"alpha": float(call.number("alpha")), "beta": float(call.number("beta"))}
    return call.emit.op("Gemm", left, right, call["self"], transA=left_flag, transB=right_flag, **scales)


def _untransposed(call: Call, name: str) -> tuple[str, int]:
    """The matrix behind a transposition, and whether there is one: a product transposes as it reads."""
    node = call.arguments[name]
    if isinstance(node, Node) and str(node.target) in ("aten.permute.default", "aten.t.default"):
        source = node.args[0]
        assert isinstance(source, Node)
        value = call.values[source]
        assert isinstance(value, str)
        if str(node.target) == "aten.t.default" or node.args[1] == [1, 0]:
            return value, 1
    return call[name], 0


@TABLE.lowers("bmm.default", "matmul.default")
def batched_matrix_product(call: Call) -> str:
    names = list(call.arguments)
    return call.emit.op("MatMul", call[names[0]], call[names[1]])


@TABLE.lowers("baddbmm.default")
def biased_batched_product(call: Call) -> str:
    emit = call.emit
    product = emit.op("MatMul", call["batch1"], call["batch2"])
    if call.number("alpha") != 1:
        product = emit.op("Mul", product, call.cast("alpha", call.dtype))
    bias = call["self"]
    if call.number("beta") != 1:
        bias = emit.op("Mul", bias, call.cast("beta", call.dtype))
    return emit.op("Add", bias, product)


@TABLE.lowers("convolution.default")
def convolution(call: Call) -> str:
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
