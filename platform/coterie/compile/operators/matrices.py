"""Matrix products."""

from torch.fx.node import Node

from coterie.compile.call import Call, OperatorTable, same_sizes

TABLE = OperatorTable()


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
    """The matrix before a transposition, and whether there is one: a product transposes as it reads."""
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
    left, right = list(call.arguments)
    return call.emit.op("MatMul", _unexpanded(call, left), _unexpanded(call, right))


def _unexpanded(call: Call, name: str) -> str:
    """The single matrix before an expansion to a stack: a product repeats it as it reads."""
    node = call.arguments[name]
    if isinstance(node, Node) and str(node.target) == "aten.expand.default":
        source = node.args[0]
        assert isinstance(source, Node)
        shape = source.meta["val"].shape
        ones = [1] * (len(shape) - 2)
        if same_sizes(shape, [*ones, *call.tensor(name).shape[-2:]]):
            value = call.values[source]
            assert isinstance(value, str)
            return value
    return call[name]


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
