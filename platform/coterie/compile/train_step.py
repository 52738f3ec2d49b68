"""One step of training as a function of named tensors, as `coterie_wire.bundle.ModelSpec` names them."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coterie.compile.flat import FlatProgram
from coterie.compile.loss_program import Criterion
from coterie.compile.losses import Teacher, curvature, loss_and_gradient
from coterie.compile.optimisers import advance, clip
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.custom import Custom
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import DISTILLATION, cut_inputs


def train_step(
    program: FlatProgram, recipe: Recipe, loss: Criterion, spec: ModelSpec, given: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """The outputs of ``train_step.onnx``, by name; `loss` is that of `recipe`, with its program where it is custom.

    The proximal term (Li et al. 2020, arXiv 1812.06127) is a part of the applied gradient; the returned loss does not
    include it, and the gradient is clipped with it.
    """
    names = [parameter.name for parameter in spec.parameters]
    scalars = {name: given[name] for name in spec.scalars}
    weight = given["sample_weight"]
    present = (weight > 0).to(torch.float32)

    at_cut = {tensor.name: given[tensor.name] for tensor in cut_inputs(spec)}

    def forward(parameters: Sequence[Tensor], inputs: Mapping[str, Tensor]) -> tuple[Tensor, Mapping[str, Tensor]]:
        trained = {f"param.{name}": parameter for name, parameter in zip(names, parameters, strict=True)}
        return program.forward({**given, **inputs, **trained}, present)

    output, pull_back, *rest = torch.func.vjp(forward, [given[f"param.{name}"] for name in names], at_cut, has_aux=True)
    (gathered,) = rest
    teacher = Teacher(given["teacher"], scalars[DISTILLATION]) if recipe.distillation else None
    found = loss_and_gradient(loss, output, given[spec.target.name], weight, teacher)
    with torch.no_grad():  # second derivatives are not needed, for which PyTorch has longer formulas
        gradients, by_input = pull_back(found.gradient)
    by_name = dict(zip(names, gradients, strict=True))
    if curved := [name for name in names if recipe.optimiser.is_curved(name)]:
        with torch.no_grad():
            curvatures, _ = pull_back(curvature(loss, output, weight))
        found_by_name = dict(zip(names, curvatures, strict=True))
        by_name |= {name: found_by_name[name] for name in curved}
    blocks = _blocks(spec)

    def joined(role: str, block: Block) -> Tensor:
        return _join([given[f"{role}.{parameter.name}"] for parameter in block])

    followed = [
        _join([by_name[parameter.name] for parameter in block])
        + scalars["proximal_weight"] * (joined("param", block) - joined("anchor", block))
        for block in blocks
    ]
    if recipe.clipping:
        followed = list(clip(followed, scalars["clip_norm"]))
    results = {"loss": found.loss, **({} if found.correct is None else {"correct": found.correct})}
    results.update({f"gradient.{name}": gradient for name, gradient in by_input.items()})
    roles = recipe.optimiser.state()
    for block, gradient in zip(blocks, followed, strict=True):
        state = [joined(role, block) for role in roles]
        stepped = advance(recipe.optimiser, joined("param", block), gradient, state, scalars)
        for role, tensor in zip(("param", *roles), (stepped.parameter, *stepped.state), strict=True):
            results.update(_parted(f"next.{role}", tensor, block))
    results.update({f"next.{name}": tensor for name, tensor in gathered.items()})
    if isinstance(recipe.loss, Custom) and recipe.loss.whole_batches:
        full = weight.amin() > 0
        results.update({name: torch.where(full, results[name], given[before]) for name, before in _carried(results)})
    return results


def _carried(results: Mapping[str, Tensor]) -> Sequence[tuple[str, str]]:
    """The names of the next step's inputs, with the names of this step's outputs."""
    return [(name, name.removeprefix("next.")) for name in results if name.startswith("next.")]


Block = Sequence[TensorSpec]


def _blocks(spec: ModelSpec) -> Sequence[Block]:
    """Parameters that are updated together: all vectors, concatenated, since models have many and each operator has
    a cost.
    """
    vectors = [parameter for parameter in spec.parameters if len(parameter.shape) == 1]
    others = [[parameter] for parameter in spec.parameters if len(parameter.shape) != 1]
    return [vectors, *others] if vectors else others


def _join(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def _parted(role: str, tensor: Tensor, block: Block) -> Mapping[str, Tensor]:
    parts = [tensor] if len(block) == 1 else torch.split(tensor, [parameter.shape[0] for parameter in block])
    return {f"{role}.{parameter.name}": part for parameter, part in zip(block, parts, strict=True)}
