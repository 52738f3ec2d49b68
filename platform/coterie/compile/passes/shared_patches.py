"""A convolution whose gradient cuts patches of its input becomes a product with the same patches.

Cutting them is half the work of a convolution, and is done once instead of twice. A convolution with fewer output than
input channels stays, because it is faster as a transposed one.
"""

from collections.abc import Callable, Sequence

import torch
from torch.fx import GraphModule
from torch.fx.node import Argument, Node

from coterie.compile.patches import PATCHES

aten = torch.ops.aten


def shared_patches(module: GraphModule) -> None:
    """Rewrites in place."""
    for patches in module.graph.find_nodes(op="call_function", target=PATCHES):
        x, *moves = patches.args
        for user in list(x.users):
            if user.target is aten.convolution.default and user < patches and _moves(user) == moves:
                user.prepend(patches)
                _multiply(user, patches)


def _moves(convolution: Node) -> list[Argument] | None:
    """Kernel, stride, padding and dilation, as `PATCHES` takes them; None for one that stays, or of any length."""
    x, weight, _, stride, padding, dilation, transposed, *_ = convolution.args
    assert isinstance(x, Node) and isinstance(weight, Node)
    given, taken = convolution.meta["val"].shape, x.meta["val"].shape
    if transposed or not all(isinstance(size, int) for size in given) or given[1] < taken[1]:
        return None
    return [list(weight.meta["val"].shape[2:]), stride, padding, dilation]


def _multiply(convolution: Node, patches: Node) -> None:
    """Replace `convolution` by a product of the weights and the patches."""
    _, weight, bias, *_, groups = convolution.args
    assert isinstance(weight, Node) and isinstance(groups, int)
    shape = list(convolution.meta["val"].shape)
    (batch, filters), rank = shape[:2], len(shape)
    seen = weight.meta["val"][0].numel()
    with convolution.graph.inserting_before(convolution):
        rows = _view(weight, [groups, filters // groups, seen])
        columns = _view(patches, [batch, groups, seen, -1])
        product = _call(aten.matmul.default, rows, columns)
        found = _view(product, shape)
        if isinstance(bias, Node):
            found = _call(aten.add.Tensor, found, _view(bias, [filters, *[1] * (rank - 2)]))
    convolution.replace_all_uses_with(found)
    convolution.graph.erase_node(convolution)


def _view(node: Node, shape: Sequence[int]) -> Node:
    return _call(aten.view.default, node, list(shape))


def _call(operator: Callable[..., torch.Tensor], first: Node, second: Argument) -> Node:
    """A node that calls `operator`, with its result as metadata."""
    node = first.graph.call_function(operator, (first, second))
    given = (argument.meta["val"] if isinstance(argument, Node) else argument for argument in node.args)
    node.meta = {**first.meta, "val": operator(*given)}
    return node
