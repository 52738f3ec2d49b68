"""A custom loss as a program: a PyTorch function of output and target, with a number for each sample."""

import math
from collections.abc import Mapping, Sequence
from copy import copy

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
from coterie.compile.node_places import place_of
from coterie.compile.own_gradients import refuse_own_gradients
from coterie.compile.passes.copying import copy_graph
from coterie.compile.passes.devices import made_on
from coterie.compile.ranges import Range, ranges_of
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.custom import Custom
from coterie.compile.source_locations import SourceLocation
from coterie.compile.synthetic import synthetic_array
from coterie.compile.watched import first_not_finite, first_to_differ, given_by
from coterie_wire.bundle import Shape, Task, TensorSpec
from coterie_wire.contract import TARGET

LOSS = "loss"
"""The module that errors name for operators of a loss program."""
OUTPUTS = "output.{}"
TRIED = 4
"""Samples."""


class LossProgram:
    """The program of a recipe's `Custom` loss. It takes the model's output, then the target."""

    def __init__(self, kind: Custom, program: ExportedProgram) -> None:
        """Raises UnsupportedLoss or NoGradient."""
        refuse_own_gradients(program, LOSS, of_inputs=True)
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
                    reason = f"it takes a {other.name.lower()}, {spec.target}; keep constants in buffers"
                    raise _refused(reason, next(iter(node.users), node))
        if len(taken) < 2 or any(output.dtype != "float32" for output in taken[:-1]):
            shown = ", ".join(map(_shown, taken)) or "nothing"
            raise _refused(f"it takes {shown}; let it take the output in float32, then the target")
        *outputs, target = taken
        _check_result(program)
        self._outputs, self._target = outputs, msgspec.structs.replace(target, name=TARGET)
        self._whole_batches = kind.whole_batches
        names = [node.name for spec, node in zip(specs, placeholders, strict=True) if spec.kind is InputKind.USER_INPUT]
        known = ranges_of(program).get(names[-1])
        self.ranges: Mapping[str, Range] = {} if known is None else {TARGET: known}
        """Of a target of whole numbers, where the program tells."""
        self._program = FlatProgram(_named(program.graph_module), tuple(arguments)).renamed({target.name: TARGET})

    @property
    def graph(self) -> GraphModule:
        """Its operators, in a module called `LOSS`."""
        return self._program.graph

    def on(self, device: torch.device) -> "LossProgram":
        """The same for outputs and targets on `device`."""
        moved = copy(self)
        moved._program = FlatProgram(
            made_on(self.graph, device),
            tuple(one.to(device) if isinstance(one, Tensor) else one for one in self._program.arguments),
        )
        return moved

    def target(self, output: TensorSpec) -> TensorSpec | None:
        """The spec of one sample's target for a model with this `output`; None where they do not fit together."""
        fits = [output.shape] == [taken.shape for taken in self._outputs]
        match self.task:
            case "classes":
                fits = fits and len(output.shape) == 1 and (self._target.dtype, self._target.shape) == ("int64", ())
            case "labels":
                fits = fits and len(output.shape) == 1 and self._target.shape == output.shape
        return self._target if fits else None

    def target_of(self, shapes: Sequence[Shape]) -> TensorSpec | None:
        """`target` for a model with several outputs of these `shapes`, which are neither classes nor labels."""
        fits = self.task == "values" and list(shapes) == [taken.shape for taken in self._outputs]
        return self._target if fits else None

    def expected_output(self) -> str:
        """The outputs that it takes, for people."""
        of_task: dict[Task, str] = {
            "classes": "logits [batch, classes] and targets int64 [batch]",
            "labels": "logits [batch, labels] and targets of the same shape",
        }
        asked = f", to tell {self.task} apart {of_task[self.task]}" if self.task in of_task else ""
        return f"{' and '.join(map(_shown, (*self._outputs, self._target)))}, by its program{asked}"

    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """One number for each sample, [batch]; several outputs are concatenated. Raises UnsupportedOperator."""
        found, _ = self._program.forward({**self._parts(output), TARGET: target})
        return found

    def _parts(self, output: Tensor) -> Mapping[str, Tensor]:
        """The outputs by name."""
        if len(self._outputs) == 1:
            return {self._outputs[0].name: output}
        parts = torch.split(output, [math.prod(taken.shape) for taken in self._outputs], dim=1)
        return {taken.name: part.reshape(-1, *taken.shape) for taken, part in zip(self._outputs, parts, strict=True)}

    def check_samples(self) -> None:
        """Check that the loss of a synthetic sample depends on that sample only, unless it takes whole batches.

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
            # Some outputs of models are never negative, such as variances.
            output = around if bool(torch.isfinite(self.losses(around, target)).all()) else above
            together, again = self.losses(output, target), self.losses(output, target)
            # Each sample with a copy of itself: a batch of 1 could be specialised to a constant.
            alone = [self.losses(*(whole[[place, place]] for whole in (output, target)))[0] for place in range(TRIED)]
        except REFUSALS as error:
            raise _refused(explain(str(error).strip().split("\n", 1)[0])) from error
        if not bool(torch.isfinite(together).all()):
            raise _refused(
                "of outputs around 0, and of those between 0 and 1, its numbers are not finite: add a small number to "
                "what is divided by or what a logarithm or root is taken of",
                first_not_finite(self._program.graph, self._arguments(output, target)),
            )
        if not torch.equal(together, again):
            one, other = (given_by(self._program.graph, self._arguments(output, target)) for _ in range(2))
            raise _refused(
                "its numbers differ from call to call: leave dropout and all that is drawn at random to the model",
                first_to_differ(one, other, torch.equal),
            )
        if not self._whole_batches and not torch.allclose(together, torch.stack(alone), rtol=1e-4, atol=1e-5):
            raise _refused(
                "the loss of a sample depends on the others of its batch: take no mean, sum or maximum over the first "
                "axis, nor .item() of one; or, where it must, as in contrastive learning, say "
                '{"kind": "custom", "whole_batches": true} in the recipe',
                self._first_to_mix(output, target),
            )

    def _arguments(self, output: Tensor, target: Tensor) -> Sequence[Tensor]:
        """The arguments of the placeholders of its graph."""
        given = {**self._parts(output), TARGET: target}
        return [given[one] if isinstance(one, str) else one for one in self._program.arguments]  # type: ignore[misc]

    def _first_to_mix(self, output: Tensor, target: Tensor) -> Node | None:
        """The first operator whose result for a sample changes with the other samples of its batch."""
        together = given_by(self._program.graph, self._arguments(output, target))
        for place in range(TRIED):
            pair = [place, place]
            alone = given_by(self._program.graph, self._arguments(output[pair], target[pair]))

            def alike(among: Tensor, with_itself: Tensor, place: int = place) -> bool:
                if among.dim() and with_itself.dim() and (len(among), len(with_itself)) == (TRIED, 2):
                    among, with_itself = among[place], with_itself[0]
                return among.shape == with_itself.shape and torch.allclose(
                    among, with_itself, rtol=1e-4, atol=1e-5, equal_nan=True
                )

            if found := first_to_differ(together, alone, alike):
                return found
        return None


Criterion = Loss | LossProgram
"""What a train step minimises."""


def criterion(loss: Loss, program: ExportedProgram | None) -> Criterion:
    """The loss of a recipe, with its program where it is custom. Raises UnsupportedLoss or NoGradient."""
    if isinstance(loss, Custom):
        if program is None:
            raise _refused("the recipe asks for a loss program, and there is none: give one made by export_loss")
        return LossProgram(loss, program)
    if program is not None:
        raise _refused(f'the recipe asks for {loss.name}; say {{"kind": "custom"}} in it')
    return loss


def _refused(found: str, node: Node | None = None) -> UnsupportedLoss:
    """Where `node` is, or the loss as a whole."""
    place = SourceLocation("", "") if node is None else place_of(node)
    owner = "" if place.module.split(".", 1)[0] == LOSS else LOSS
    return UnsupportedLoss(found=found, **place.within(owner).fields())


def _sample(node: Node, name: str) -> TensorSpec:
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dtype not in TARGETS:
        dtype = f", of {value.dtype}" if isinstance(value, Tensor) else ""
        raise _refused(
            f"it takes an argument {node.name}{dtype}, that is not the output or the target: outputs are float32, "
            "targets float32 or int64",
            next(iter(node.users), node),
        )
    if [axis for axis, size in enumerate(value.shape) if not isinstance(size, int)] != [0]:
        raise _refused(
            f"argument {node.name} has no dynamic leading axis, or other dynamic axes: export it by export_loss",
            next(iter(node.users), node),
        )
    return TensorSpec(name, TARGETS[value.dtype], tuple(int(size) for size in value.shape[1:]))


def _check_result(program: ExportedProgram) -> None:
    (results,) = program.graph.output_node().args
    assert isinstance(results, (tuple, list))
    node = results[0] if len(results) == 1 and isinstance(results[0], Node) else None
    value = None if node is None else node.meta["val"]
    if node is None or not isinstance(value, Tensor):
        raise _refused(f"it gives {len(results)} results: give one tensor, the losses' sum if they are several")
    if value.dtype != torch.float32:
        raise _refused(f"it gives {value.dtype}: compute in float32, and give it so", node)
    if value.dim() == 1:
        return
    spoken = next((one for one in program.graph.nodes if str(one.target).startswith("aten.ctc_loss")), None)
    if value.dim() == 0 and spoken is not None:
        raise _refused(
            "it gives one number for the batch: write ctc_loss(…, reduction='none'), and what 'mean' divides by, "
            "/ target_lengths.clamp(min=1)",
            spoken,
        )
    sizes = ", ".join(["batch" if isinstance(size, torch.SymInt) else str(size) for size in value.shape])
    advice = "take reduction='none' and the mean over all axes but the first"
    raise _refused(f"it gives float32 [{sizes}]; {advice}", node)


def _named(graph: GraphModule) -> GraphModule:
    """A copy with its operators in a module called ``loss``, for errors."""
    module = copy_graph(graph)
    for node in module.graph.nodes:
        found = node.meta.get("nn_module_stack") or {"": ("", "")}
        stack = {key: (".".join(filter(None, (LOSS, path))), kind) for key, (path, kind) in found.items()}
        node.meta = {**node.meta, "nn_module_stack": stack}
    return module


def _shown(spec: TensorSpec) -> str:
    return f"{spec.dtype} [{', '.join(map(str, ('batch', *spec.shape)))}]"
