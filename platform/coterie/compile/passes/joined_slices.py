"""Sums of slices amid zeros, such as gradients of slices, become one concatenation where the slices do not overlap."""

import itertools
from typing import NamedTuple

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.call import same_sizes
from coterie.compile.passes.sizes import as_arguments

aten = torch.ops.aten

ZEROS = {aten.full.default, aten.zeros.default, aten.new_zeros.default}


class Piece(NamedTuple):
    """The non-zero part between two places along the axis."""

    start: int
    end: int
    node: Node


def joined_slices(module: GraphModule) -> None:
    """Rewrites in place."""
    for node in module.graph.nodes:
        if node.target is aten.add.Tensor and len(node.all_input_nodes) == 2 and not node.kwargs:
            _join(node)
    module.graph.eliminate_dead_code()


def _join(total: Node) -> None:
    left, right = total.all_input_nodes
    if left.target is not aten.cat.default or right.target is not aten.cat.default:
        return
    value, axis = total.meta["val"], _axis(left)
    if axis != _axis(right) or any(not same_sizes(part.meta["val"].shape, value.shape) for part in (left, right)):
        return
    if any(not isinstance(part.meta["val"].shape[axis], int) for cat in (left, right) for part in cat.all_input_nodes):
        return
    pieces = sorted([*_pieces(left), *_pieces(right)])
    if any(first.end > second.start for first, second in itertools.pairwise(pieces)):
        return
    parts, at = [], 0
    with total.graph.inserting_before(total):
        for piece in pieces:
            if piece.start > at:
                parts.append(_zeros(total, axis, piece.start - at))
            parts.append(piece.node)
            at = piece.end
        if at < value.shape[axis]:
            parts.append(_zeros(total, axis, value.shape[axis] - at))
    total.target, total.args = aten.cat.default, (parts, axis)


def _axis(cat: Node) -> int:
    axis = cat.args[1] if len(cat.args) > 1 else 0
    assert isinstance(axis, int)
    return axis % len(cat.meta["val"].shape)


def _pieces(cat: Node) -> list[Piece]:
    parts, axis, at = cat.args[0], _axis(cat), 0
    assert isinstance(parts, (list, tuple))
    pieces = []
    for part in parts:
        assert isinstance(part, Node)
        end = at + part.meta["val"].shape[axis]
        if not _is_zero(part):
            pieces.append(Piece(at, end, part))
        at = end
    return pieces


def _is_zero(node: Node) -> bool:
    return node.target in ZEROS and (node.target is not aten.full.default or bool(node.args[1] == 0))


def _zeros(total: Node, axis: int, size: int) -> Node:
    value: torch.Tensor = total.meta["val"]
    shape = [*value.shape[:axis], size, *value.shape[axis + 1 :]]
    zeros = total.graph.call_function(aten.full.default, (as_arguments(total.graph, shape), 0))
    zeros.meta = {**total.meta, "val": torch.empty(shape, dtype=value.dtype, device="meta")}
    return zeros
