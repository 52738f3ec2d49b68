import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.passes.late_expand import late_expand


def traced(function: object, *arguments: Tensor) -> GraphModule:
    return make_fx(function, tracing_mode="fake")(*arguments)


def shapes_of_expansions(module: GraphModule) -> list[tuple[int, ...]]:
    return [tuple(node.args[1]) for node in module.graph.nodes if "expand" in str(node.target)]


def test_expansion_that_a_broadcast_does_is_dropped() -> None:
    def gradient_of_a_mean(row: Tensor, x: Tensor) -> Tensor:
        return row.expand(3, 4) / 4.0 * x

    row, x = torch.randn(3, 1), torch.randn(3, 4)
    module = traced(gradient_of_a_mean, row, x)
    late_expand(module)
    assert shapes_of_expansions(module) == []
    torch.testing.assert_close(module(row, x), gradient_of_a_mean(row, x))


def test_expansion_comes_after_what_can_do_without() -> None:
    def several(row: Tensor, column: Tensor) -> Tensor:
        return (row.expand(3, 4) * 2 + row.expand(3, 4)).sum(dim=1) + (column.expand(3, 4) - row.expand(3, 4)).sum(1)

    row, column = torch.randn(3, 1), torch.randn(4)
    module = traced(several, row, column)
    late_expand(module)
    assert shapes_of_expansions(module) == [(3, 4)]
    torch.testing.assert_close(module(row, column), several(row, column))
