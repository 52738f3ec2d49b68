"""A loss that came as a program: a PyTorch function of output and target, with a number for each sample."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.dtypes import TARGETS
from coterie.compile.errors import UnsupportedLoss
from coterie.compile.explanations import explain
from coterie.compile.flat import REFUSALS, Argument, FlatProgram
from coterie.compile.passes.copying import copy_graph
from coterie.compile.ranges import Range, ranges_of
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.custom import Custom
from coterie.compile.synthetic import synthetic_array
from coterie_wire.bundle import Shape, Task, TensorSpec
from coterie_wire.contract import TARGET

OUTPUTS = "output.{}"
TRIED = 4
"""Samples."""


class LossProgram:
    """What `Custom` stands for in a recipe. Its program takes the model's output, then the target."""

    def __init__(self, kind: Custom, program: ExportedProgram) -> None:
        """Raises UnsupportedLoss."""
        self.name, self.task = kind.name, kind.task
        specs = program.graph_signature.input_specs
        placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
        arguments: list[Argument] = []
        taken: list[TensorSpec] = []
        for spec, node in zip(specs, placeholders, strict=True):
            match spec.kind:
                case InputKind.USER_INPUT:
                    taken.append(_sample(node, OUTPUTS.format(len(taken))))
                    arguments.append(taken[-1].name)
                case InputKind.BUFFER | InputKind.CONSTANT_TENSOR:
                    assert spec.target is not None
                    kept = program.state_dict if spec.target in program.state_dict else program.constants
                    arguments.append(kept[spec.target].detach())
                case other:
                    raise UnsupportedLoss(found=f"it takes a {other.name.lower()}; keep constants in buffers")
        if len(taken) < 2 or any(output.dtype != "float32" for output in taken[:-1]):
            raise UnsupportedLoss(found=f"it takes {', '.join(map(_shown, taken)) or 'nothing'}")
        *outputs, target = taken
        _check_result(program)
        self._outputs, self._target = outputs, msgspec.structs.replace(target, name=TARGET)
        self._whole_batches = kind.whole_batches
        names = [node.name for spec, node in zip(specs, placeholders, strict=True) if spec.kind is InputKind.USER_INPUT]
        known = ranges_of(program).get(names[-1])
        self.ranges: Mapping[str, Range] = {} if known is None else {TARGET: known}
        """Of a target of whole numbers, where the program tells."""
        self._program = FlatProgram(_named(program.graph_module), tuple(arguments)).renamed({target.name: TARGET})

    def target(self, output: TensorSpec) -> TensorSpec | None:
        """What one sample's target must be for a model with this `output`; None where they do not fit together."""
        fits = [output.shape] == [taken.shape for taken in self._outputs]
        match self.task:
            case "classes":
                fits = fits and len(output.shape) == 1 and (self._target.dtype, self._target.shape) == ("int64", ())
            case "labels":
                fits = fits and len(output.shape) == 1 and self._target.shape == output.shape
        return self._target if fits else None

    def target_of(self, shapes: Sequence[Shape]) -> TensorSpec | None:
        """`target` for a model with several outputs of these `shapes`, which tell no classes or labels."""
        fits = self.task == "values" and list(shapes) == [taken.shape for taken in self._outputs]
        return self._target if fits else None

    def wanted(self) -> str:
        """What output it takes, for people."""
        of_task: dict[Task, str] = {
            "classes": "logits [batch, classes] and targets int64 [batch]",
            "labels": "logits [batch, labels] and targets of the same shape",
        }
        asked = f", to tell {self.task} apart {of_task[self.task]}" if self.task in of_task else ""
        return f"{' and '.join(map(_shown, (*self._outputs, self._target)))}, by its program{asked}"

    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """One number for each sample, [batch]; several outputs come end to end. Raises UnsupportedOperator."""
        given = {TARGET: target}
        if len(self._outputs) == 1:
            given[self._outputs[0].name] = output
        else:
            parts = torch.split(output, [math.prod(taken.shape) for taken in self._outputs], dim=1)
            for taken, part in zip(self._outputs, parts, strict=True):
                given[taken.name] = part.reshape(-1, *taken.shape)
        found, _ = self._program.forward(given)
        return found

    def check_samples(self) -> None:
        """Check that the loss of a synthetic sample depends on that sample alone, unless it takes whole batches.

        Raises UnsupportedLoss.
        """
        generator = torch.Generator().manual_seed(0)
        shape = (
            self._outputs[0].shape
            if len(self._outputs) == 1
            else (sum(math.prod(taken.shape) for taken in self._outputs),)
        )
        around, above = torch.randn(TRIED, *shape, generator=generator), torch.rand(TRIED, *shape, generator=generator)
        target = torch.from_numpy(synthetic_array(self._target, TRIED, np.random.default_rng(0), self.ranges))
        try:
            # A model may give what is never negative, as variances are.
            output = around if bool(torch.isfinite(self.losses(around, target)).all()) else above
            together, again = self.losses(output, target), self.losses(output, target)
            # Each sample with a copy of itself: a batch of 1 could be taken for a constant.
            alone = [self.losses(*(whole[[place, place]] for whole in (output, target)))[0] for place in range(TRIED)]
        except REFUSALS as error:
            raise UnsupportedLoss(found=explain(str(error).strip().split("\n", 1)[0])) from error
        if not bool(torch.isfinite(together).all()) or not torch.equal(together, again):
            raise UnsupportedLoss(
                found="of outputs around 0, and of those between 0 and 1, its numbers are not finite, or differ from "
                "call to call: add a small number to what is divided by or what a logarithm or root is taken of"
            )
        if not self._whole_batches and not torch.allclose(together, torch.stack(alone), rtol=1e-4, atol=1e-5):
            raise UnsupportedLoss(
                found="the loss of a sample depends on the others of its batch: take no mean over them; or, where it "
                'must, as in contrastive learning, say {"kind": "custom", "whole_batches": true} in the recipe'
            )


Criterion = Loss | LossProgram
"""What a train step makes small."""


def criterion(loss: Loss, program: ExportedProgram | None) -> Criterion:
    """The loss of a recipe, with its program where it has one. Raises UnsupportedLoss."""
    if isinstance(loss, Custom):
        if program is None:
            raise UnsupportedLoss(found="the recipe asks for a loss program, and there is none")
        return LossProgram(loss, program)
    if program is not None:
        raise UnsupportedLoss(found=f'the recipe asks for {loss.name}; say {{"kind": "custom"}} in it')
    return loss


def _sample(node: Node, name: str) -> TensorSpec:
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dtype not in TARGETS:
        raise UnsupportedLoss(found=f"it takes an argument {node.name} that is not the output or the target")
    if [axis for axis, size in enumerate(value.shape) if not isinstance(size, int)] != [0]:
        raise UnsupportedLoss(found=f"argument {node.name} has no dynamic leading axis, or other dynamic axes")
    return TensorSpec(name, TARGETS[value.dtype], tuple(int(size) for size in value.shape[1:]))


def _check_result(program: ExportedProgram) -> None:
    (results,) = program.graph.output_node().args
    assert isinstance(results, (tuple, list))
    value = results[0].meta["val"] if len(results) == 1 and isinstance(results[0], Node) else None
    if not isinstance(value, Tensor) or value.dtype != torch.float32 or value.dim() != 1:
        found = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else f"{len(results)} results"
        raise UnsupportedLoss(found=f"it gives {found}; take reduction='none' and the mean over all axes but the first")


def _named(graph: GraphModule) -> GraphModule:
    """A copy whose operators stand in a module called ``loss``, for errors to tell."""
    module = copy_graph(graph)
    for node in module.graph.nodes:
        found = node.meta.get("nn_module_stack") or {"": ("", "")}
        stack = {key: (".".join(filter(None, ("loss", path))), kind) for key, (path, kind) in found.items()}
        node.meta = {**node.meta, "nn_module_stack": stack}
    return module


def _shown(spec: TensorSpec) -> str:
    return f"{spec.dtype} [{', '.join(map(str, ('batch', *spec.shape)))}]"
