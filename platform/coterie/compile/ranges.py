"""The integers that a program accepts, as far as it uses them as indices of tables."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.node import Argument, Node

aten = torch.ops.aten

Range = tuple[int, int]
"""The least and the greatest."""

MOVED = {
    aten.view.default,
    aten.reshape.default,
    aten.flatten.using_ints,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.slice.Tensor,
    aten.select.int,
    aten.permute.default,
    aten.transpose.int,
    aten.expand.default,
    aten.flip.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.masked_fill.Scalar,
    aten.to.dtype,
    aten._to_copy.default,
}
"""Operators that pass numbers on unchanged."""
ROWS_OF_FIRST = {aten.embedding.default}
ALONG_AXIS = {aten.index_select.default, aten.gather.default}
CLASSES_OF_FIRST = {aten.cross_entropy_loss.default, aten.nll_loss.default, aten.multi_margin_loss.default}


def ranges_of(program: ExportedProgram) -> Mapping[str, Range]:
    """For each input of integers, the range for which every table has a row; inputs without tables are missing."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    found: dict[str, Range] = {}
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        rows = list(_rows(node, 0)) if spec.kind is InputKind.USER_INPUT else []
        if rows:
            found[node.name] = max(low for low, _ in rows), min(high for _, high in rows)
    return {name: bounds for name, bounds in found.items() if bounds[0] <= bounds[1]}


def _rows(node: Node, added: int) -> Iterator[Range]:
    """For each table indexed by `node`, whose numbers are those of the input with `added`, its number of rows and
    `added`.
    """
    for user in node.users:
        if user.target in MOVED and user.args[0] is node:
            yield from _rows(user, added)
        elif (change := _change(user, node)) is not None:
            yield from _rows(user, added + change)
        elif (size := _size(user, node)) is not None:
            yield -added, size - 1 - added


def _change(user: Node, node: Node) -> int | None:
    """What `user` adds to the numbers of `node`."""
    if user.target not in (aten.add.Tensor, aten.sub.Tensor) or user.args[0] is not node or len(user.args) != 2:
        return None
    other = user.args[1]
    if not isinstance(other, int):
        return None
    return other if user.target is aten.add.Tensor else -other


def _size(user: Node, node: Node) -> int | None:
    """How many rows the table has that `user` indexes by `node`."""
    args = user.args
    if user.target in ROWS_OF_FIRST and args[1] is node:
        return _length(args[0], 0)
    if user.target in ALONG_AXIS and args[2] is node and isinstance(args[1], int):
        return _length(args[0], args[1])
    if user.target is aten.index.Tensor and isinstance(args[1], (list, tuple)) and node in args[1]:
        return _length(args[0], args[1].index(node))
    if user.target in CLASSES_OF_FIRST and args[1] is node:
        return _length(args[0], 1)
    if user.target is aten.one_hot.default and len(args) > 1 and isinstance(args[1], int):
        return args[1] if args[1] > 0 else None
    return None


def _length(table: Argument, axis: int) -> int | None:
    """Of the shortest samples, where it depends on them."""
    value = table.meta.get("val") if isinstance(table, Node) else None
    if not isinstance(value, Tensor) or not value.dim():
        return None
    size = value.shape[axis]
    return size if isinstance(size, int) else int(size.node.shape_env.bound_sympy(size.node.expr).lower)
