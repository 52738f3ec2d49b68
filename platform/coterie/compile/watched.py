"""Records the results of a program's operators as PyTorch runs it, so that errors can name the first that fails."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter
from torch.fx.node import Node

aten = torch.ops.aten
MASKS = {
    aten.masked_fill.Scalar,
    aten.masked_fill_.Scalar,
    aten.masked_fill.Tensor,
    aten.where.self,
    aten.where.ScalarSelf,
    aten.where.ScalarOther,
    aten.where.Scalar,
    aten.full.default,
    aten.full_like.default,
}
"""Operators that write a given value, which may be infinite."""


def given_by(module: GraphModule, arguments: Sequence[Tensor]) -> Mapping[Node, Tensor]:
    """The tensor that each operator returns, in order. Raises what PyTorch raises."""
    recorder = _Recorder(module)
    with torch.no_grad():
        recorder.run(*arguments)
    return recorder.given


def first_to_differ(
    one: Mapping[Node, Tensor], other: Mapping[Node, Tensor], alike: Callable[[Tensor, Tensor], bool]
) -> Node | None:
    """The first operator whose results in two runs of one program are not `alike`."""
    return next((node for node, tensor in one.items() if not alike(tensor, other[node])), None)


def first_not_finite(module: GraphModule, arguments: Sequence[Tensor]) -> Node | None:
    """The first operator that makes non-finite numbers of finite ones. Raises what PyTorch raises.

    Masks with minus infinity are intended; then it is the first operator after it that returns NaN.
    """
    finder = _Finder(module)
    with torch.no_grad():
        finder.run(*arguments)
    return finder.found


class _Recorder(Interpreter):
    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.extra_traceback = False
        self.given: dict[Node, Tensor] = {}

    def run_node(self, n: Node) -> object:
        given = super().run_node(n)
        if n.op == "call_function" and isinstance(given, Tensor):
            self.given[n] = given.clone()
        return given


class _Finder(Interpreter):
    found: Node | None = None

    def run_node(self, n: Node) -> object:
        given = super().run_node(n)
        if self.found is None and n.op == "call_function" and isinstance(given, Tensor) and given.is_floating_point():
            taken = [self.env[source] for source in n.all_input_nodes]
            usual = all(bool(torch.isfinite(value).all()) for value in taken if isinstance(value, Tensor))
            makes_infinite = usual and n.target not in MASKS and bool(torch.isinf(given).any())
            if makes_infinite or bool(torch.isnan(given).any()):
                self.found = n
        return given
