import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.gradients.slices import select_backward, slice_backward
from coterie.compile.passes.joined_slices import joined_slices

SIZES = [3, 2]


def joined(function: object, *arguments: Tensor) -> GraphModule:
    module = make_fx(function, tracing_mode="fake")(*arguments)
    joined_slices(module)
    torch.testing.assert_close(module(*arguments), function(*arguments))
    return module


def kinds(module: GraphModule) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def test_slices_of_one_tensor_are_joined_and_gaps_filled() -> None:
    def parts(first: Tensor, last: Tensor, inner: Tensor) -> Tensor:
        ends = select_backward(last, [4, 2], 0, 3) + select_backward(first, [4, 2], 0, 0)
        return ends + slice_backward(inner, [4, 2], 0, 2, 3, 1)

    found = kinds(joined(parts, torch.randn(2), torch.randn(2), torch.randn(1, 2)))
    assert "aten.add.Tensor" not in found
    assert found.count("aten.cat.default") == 1
    assert found.count("aten.full.default") + found.count("aten.new_zeros.default") == 1


def test_overlapping_slices_are_added() -> None:
    def parts(first: Tensor, second: Tensor) -> Tensor:
        return slice_backward(first, SIZES, 0, 0, 2, 1) + slice_backward(second, SIZES, 0, 1, 3, 1)

    assert "aten.add.Tensor" in kinds(joined(parts, torch.randn(2, 2), torch.randn(2, 2)))


def test_slices_along_different_axes_are_added() -> None:
    def parts(row: Tensor, column: Tensor) -> Tensor:
        return select_backward(row, SIZES, 0, 1) + select_backward(column, SIZES, 1, 0)

    assert "aten.add.Tensor" in kinds(joined(parts, torch.randn(2), torch.randn(3)))
