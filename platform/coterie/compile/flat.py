"""An exported program as a function of named tensors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter
from torch.fx.node import Node

from coterie.compile.advice import advise
from coterie.compile.averages import Average
from coterie.compile.composites import COMPOSITES
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.explanations import explain
from coterie.compile.node_places import place_of
from coterie.compile.normalisation import BatchNorm

REFUSALS = (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""PyTorch's errors for operators and arguments that it cannot run."""
BATCH_NORM = "aten.batch_norm.default"

Argument = str | Tensor | Callable[[Mapping[str, Tensor]], Tensor]


class FlatProgram(NamedTuple):
    """An exported program whose parameters, statistics and inputs are arguments, and whose other buffers are
    constants.
    """

    graph: GraphModule
    arguments: tuple[Argument, ...]
    """The argument of each placeholder: a tensor by its name in the contract, a constant, or one computed from
    several.
    """

    def renamed(self, names: Mapping[str, str]) -> "FlatProgram":
        """The same program, with some tensors renamed."""
        arguments = (
            names.get(one, one)
            if isinstance(one, str)
            else replace(one, name=names.get(one.name, one.name))
            if isinstance(one, Average)
            else one
            for one in self.arguments
        )
        return self._replace(arguments=tuple(arguments))

    def forward(
        self, named: Mapping[str, Tensor], present: Tensor | None = None
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The output, and the updated statistics, by name.

        `present` [batch] marks samples (1) and padding (0); in evaluation mode no statistics are updated, and it is not
        needed.
        """
        values = [_value(argument, named) for argument in self.arguments]
        placeholders = [node for node in self.graph.graph.nodes if node.op == "placeholder"]
        called = {
            node: argument
            for node, argument in zip(placeholders, self.arguments, strict=True)
            if isinstance(argument, str)
        }
        run = _Run(self.graph, called, present)
        output, gathered = joined(run.run(*values)), dict(run.gathered)
        for argument, value in zip(self.arguments, values, strict=True):
            if isinstance(argument, Average) and present is not None:
                gathered |= argument.gathered(value.detach(), named, present)
        return output, gathered


def joined(outputs: Sequence[Tensor]) -> Tensor:
    """The output; several are concatenated, [batch, numbers]."""
    return outputs[0] if len(outputs) == 1 else torch.cat([output.flatten(1) for output in outputs], dim=1)


def _value(argument: Argument, named: Mapping[str, Tensor]) -> Tensor:
    if isinstance(argument, str):
        return named[argument]
    return argument if isinstance(argument, Tensor) else argument(named)


class _Run(Interpreter):
    """Runs a program; errors name the operator and the module that failed."""

    def __init__(self, graph: GraphModule, called: Mapping[Node, str], present: Tensor | None) -> None:
        super().__init__(graph)
        self.extra_traceback = False  # what it would add to a message helps only readers of the graph
        self._called, self._present = called, present
        self.gathered: dict[str, Tensor] = {}

    def run_node(self, n: Node) -> object:
        try:
            if str(n.target) == BATCH_NORM:
                with self._set_current_node(n):
                    return self._normalise(n)
            if composite := COMPOSITES.get(str(n.target)):
                args, kwargs = self.fetch_args_kwargs_from_env(n)
                with self._set_current_node(n):
                    return composite(*args, **kwargs)
            return super().run_node(n)
        except REFUSALS as error:
            words = str(error).strip().split("\n", 1)[0] or type(error).__name__
            own = words if type(error) is NotImplementedError else None
            reason = own or advise(str(n.target)) or advise(words) or explain(words)
            raise UnsupportedOperator(operator=str(n.target), reason=reason, **place_of(n).fields()) from error

    def _normalise(self, node: Node) -> Tensor:
        args, _ = self.fetch_args_kwargs_from_env(node)
        norm = BatchNorm(*args)
        if not norm.training:
            return norm.in_service()
        assert self._present is not None, "a program in service normalises by what was gathered"
        found = norm.in_training(self._present)
        mean, variance = node.args[3:5]
        assert isinstance(mean, Node) and isinstance(variance, Node)
        self.gathered[self._called[mean]] = found.mean
        self.gathered[self._called[variance]] = found.variance
        return found.output
