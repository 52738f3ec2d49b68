"""Matrix products, convolution and pooling."""

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


@TABLE.lowers("max_pool2d.default")
def max_pool(call: Call) -> str:
    return _pool(call, "MaxPool", dilations=call.ints("dilation"))[0]


@TABLE.lowers("max_pool2d_with_indices.default")
def max_pool_with_places(call: Call) -> tuple[str, ...]:
    """The places are ONNX's, counted over the whole tensor, not PyTorch's: only the gradient below may read them."""
    for part in call.node.users:
        if part.args[1] == 1 and any("with_indices_backward" not in str(user.target) for user in part.users):
            raise NotImplementedError("indices of a pool, used otherwise than in its gradient")
    return _pool(call, "MaxPool", outputs=2, dilations=call.ints("dilation"))


@TABLE.lowers("max_pool2d_with_indices_backward.default")
def max_pool_gradient(call: Call) -> str:
    """Each window's gradient goes to its greatest element."""
    emit, flat = call.emit, call.emit.ints([-1])
    kernel, stride = pair(call.ints("kernel_size")), pair(call.ints("stride") or call.ints("kernel_size"))
    apart = all(step >= size for step, size in zip(stride, kernel, strict=True)) and call.ints("dilation") in (
        [1],
        [1, 1],
    )
    zeros = emit.op("Expand", emit.scalar(0, call.dtype), emit.ints([call.result.numel()]))
    gradient = emit.op("Reshape", call["grad_output"], flat)
    places = emit.op("Reshape", call.raw("indices"), flat)
    # Windows that overlap may share their greatest element.
    reduction = "none" if apart else "add"
    summed = emit.op("ScatterElements", zeros, places, gradient, axis=0, reduction=reduction)
    return emit.op("Reshape", summed, emit.shape(call.shape))


@TABLE.lowers("avg_pool2d.default")
def average_pool(call: Call) -> str:
    if call.arguments["divisor_override"] is not None:
        raise NotImplementedError("an average with its own divisor")
    return _pool(call, "AveragePool", count_include_pad=int(bool(call.arguments["count_include_pad"])))[0]


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
