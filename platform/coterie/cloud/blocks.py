"""A cloud model as a chain of blocks: its graph of operators, cut where exactly one tensor passes from one side to the
other.

Boundaries of ``nn.Sequential`` are such cuts, and those between residual blocks are. A parameter belongs to one block;
a size that later operators need is read from the tensor that crosses.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import SymInt, Tensor, nn
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule
from torch.fx.node import Node

from coterie.cloud.program import CloudProgram
from coterie.cloud.strategy import Splits
from coterie.compile.flat import BATCH_NORM, joined


class Cut(NamedTuple):
    """A place between two operators."""

    place: int
    """How many operators are before it."""
    crossing: Node
    """The tensor that crosses."""
    sizes: Mapping[Node, int]
    """Sizes known before it and needed after it, each with the axis of `crossing` that has it."""
    begins: frozenset[str]
    """Modules whose operators begin after it."""
    parameters: int
    """How many parameter numbers are before it."""

    @property
    def name(self) -> str:
        """The outermost module that begins."""
        return min(self.begins, key=lambda path: (path.count("."), path), default="")


class Cuts(NamedTuple):
    """Where a model can be cut, in order."""

    places: tuple[Cut, ...]
    """Parameters are on both sides of each; of cuts with the same parameters before them, the last."""
    obstacle: str
    """The reason why there are no more cuts; blank: none."""

    def splits(self) -> Splits:
        """The cuts in the form that a strategy checks."""
        return Splits(tuple(cut.name for cut in self.places), self.obstacle)


class Block(nn.Module):
    """A part of the model. Its parameters and buffers are tensors of the program."""

    def __init__(self, graph: GraphModule, names: Mapping[str, str]) -> None:
        """`names`: the program's names of the tensors of `graph`."""
        super().__init__()
        self.graph, self.names = graph, names

    def forward(self, *inputs: Tensor) -> Tensor:
        """The tensor that crosses to the next block; for the last block, the model's output."""
        return joined(self.graph(*inputs))

    def parameters_by_name(self) -> dict[str, nn.Parameter]:
        """Its parameters by the program's names."""
        return {self.names[name]: parameter for name, parameter in self.graph.named_parameters()}

    def buffers_by_name(self) -> dict[str, Tensor]:
        """Its buffers by the program's names."""
        return {self.names[name]: buffer for name, buffer in self.graph.named_buffers()}


def find_cuts(cloud: CloudProgram) -> Cuts:
    """Every place where `cloud` can be cut."""
    graph = cloud.training_graph()
    operators = _operators(graph.module.graph)
    places = {node: place for place, node in enumerate(operators)}
    until = {node: max((places.get(user, len(operators)) for user in node.users), default=-1) for node in graph.inputs}
    until |= {node: max((places.get(user, len(operators)) for user in node.users), default=-1) for node in operators}
    until |= dict.fromkeys(graph.outputs, len(operators))
    written = _last_writes(operators)
    first_uses, tied = [], dict[int, str]()
    for node, name in graph.stored.items():
        uses = sorted(places[user] for user in node.users if user in places)
        is_parameter = name in cloud.parameters
        if uses and (is_parameter or node in written or any(str(user.target) == BATCH_NORM for user in node.users)):
            tied |= dict.fromkeys(range(uses[0] + 1, uses[-1] + 1), name)
        if uses and is_parameter:
            first_uses.append((uses[0], cloud.parameters[name].numel()))
    total = sum(numbers for _, numbers in first_uses)
    found: dict[int, Cut] = {}
    obstacles: list[str] = []
    live = set(graph.inputs)
    for place in range(1, len(operators)):
        live.add(operators[place - 1])
        live = {node for node in live if until[node] >= place}
        begins = frozenset(_modules(operators[place]) - _modules(operators[place - 1]))
        before = sum(numbers for first, numbers in first_uses if first < place)
        crossing = _crossing(live, set(graph.inputs), place, written, tied.get(place))
        if isinstance(crossing, Node):
            sizes = _sizes(live, crossing)
            if sizes is not None:
                found[before] = Cut(place, crossing, sizes, begins, before)
                continue
            crossing = "a size is needed after it that the tensor which crosses does not have"
        if begins and 0 < before < total:
            obstacles.append(f"not before {min(begins, key=len)!r}: {crossing}")
    return Cuts(tuple(cut for before, cut in found.items() if 0 < before < total), obstacles[0] if obstacles else "")


def even_cuts(cuts: Sequence[Cut], parts: int, total: int) -> list[Cut]:
    """`parts` - 1 of at least as many `cuts`, so that the largest part of `total` numbers is as small as possible."""
    before = [0, *(cut.parameters for cut in cuts), total]
    best: list[tuple[int, list[int]] | None] = [(0, []), *[None] * (len(before) - 1)]
    for _ in range(parts):
        best = [
            min(
                (
                    (max(found[0], before[stop] - before[start]), [*found[1], stop])
                    for start, found in enumerate(best[:stop])
                    if found is not None
                ),
                default=None,
            )
            for stop in range(len(before))
        ]
    chosen = best[-1]
    assert chosen is not None, "there are cuts enough"
    return [cuts[stop - 1] for stop in chosen[1][:-1]]


def blocks_at(cloud: CloudProgram, cuts: Sequence[Cut]) -> list[Block]:
    """The model as len(`cuts`) + 1 blocks, each of which takes the output of the one before it."""
    return [_block(cloud, former, cut) for former, cut in pairwise([None, *cuts, None])]


def _block(cloud: CloudProgram, former: Cut | None, cut: Cut | None) -> Block:
    whole = cloud.training_graph()
    operators = _operators(whole.module.graph)[
        0 if former is None else former.place : None if cut is None else cut.place
    ]
    graph, copies = Graph(), dict[Node, Node]()
    for node in whole.inputs if former is None else (former.crossing,):
        copies[node] = graph.placeholder(node.name)
    if former is not None:
        for node, axis in former.sizes.items():
            copies[node] = graph.call_function(torch.ops.aten.sym_size.int, (copies[former.crossing], axis))
    needed = {node for operator in operators for node in operator.all_input_nodes}
    needed |= set(whole.outputs if cut is None else ())
    held = {node: name for node, name in whole.stored.items() if node in needed}
    for node in held:
        copies[node] = graph.get_attr(node.name)
    for node in operators:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in (whole.outputs if cut is None else (cut.crossing,))))
    root = nn.Module()
    for node in operators:
        if node.op == "get_attr":
            setattr(root, str(node.target), getattr(whole.module, str(node.target)))
    for node, name in held.items():
        tensor = cloud.stored(name)
        if isinstance(tensor, nn.Parameter):
            root.register_parameter(node.name, tensor)
        else:
            root.register_buffer(node.name, tensor)
    return Block(GraphModule(root, graph), {node.name: name for node, name in held.items()})


def _operators(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op not in ("placeholder", "output")]


def _modules(node: Node) -> set[str]:
    """The paths of the modules that contain an operator, except the model itself."""
    return {path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path}


def _last_writes(operators: Sequence[Node]) -> Mapping[Node, int]:
    """The last operator that writes in place to each tensor."""
    written = dict[Node, int]()
    for place, operator in enumerate(operators):
        if isinstance(operator.target, OpOverload) and operator.target._schema.is_mutable:
            node = operator
            while _shares(node) and node.args and isinstance(node.args[0], Node):
                node = node.args[0]
                written[node] = place
    return written


def _shares(node: Node) -> bool:
    """Whether an operator's result shares the memory of its first argument."""
    returns = node.target._schema.returns if isinstance(node.target, OpOverload) else []
    return any(given.alias_info is not None for given in returns)


def _crossing(
    live: set[Node], inputs: set[Node], place: int, written: Mapping[Node, int], tied: str | None
) -> Node | str:
    """The one tensor that crosses; or why the model cannot be cut here."""
    if tied is not None:
        return f"{tied!r} is used on both sides"
    tensors = [node for node in live if not isinstance(node.meta.get("val"), SymInt)]
    if late := [node.name for node in tensors if node in inputs]:
        return f"input {late[0]!r} is needed after it"
    if len(tensors) != 1:
        return f"{len(tensors)} tensors are needed after it: {', '.join(sorted(node.name for node in tensors)[:3])}"
    (node,) = tensors
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return f"what is needed after it, {node.name!r}, is no tensor of floating-point numbers"
    if written.get(node, -1) >= place:
        return f"{node.name!r} is changed in place after it"
    return node


def _sizes(live: set[Node], crossing: Node) -> Mapping[Node, int] | None:
    """The axes of `crossing` that have the sizes needed beside it; None: one of the sizes is on no axis."""
    axes = {str(size): axis for axis, size in enumerate(crossing.meta["val"].shape)}
    sizes = {node: axes.get(str(node.meta["val"])) for node in live if node is not crossing}
    return None if None in sizes.values() else {node: axis for node, axis in sizes.items() if axis is not None}
