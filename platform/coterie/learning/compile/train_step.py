"""One step of training as a function of named tensors, as `coterie_wire.bundle.ModelSpec` names them."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coterie.learning.compile.flat import FlatProgram
from coterie.learning.compile.losses import Teacher, judge
from coterie.learning.compile.optimisers import advance, clip
from coterie.learning.recipe import Recipe
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import DISTILLATION


def train_step(
    program: FlatProgram, recipe: Recipe, spec: ModelSpec, given: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """What ``train_step.onnx`` gives, by name.

    The proximal term (Li et al. 2020, arXiv 1812.06127) enters the gradient that is followed; the loss that is given is
    without it, and the gradient is clipped with it.
    """
    names = [parameter.name for parameter in spec.parameters]
    scalars = {name: given[name] for name in spec.scalars}
    weight = given["sample_weight"]
    present = (weight > 0).to(torch.float32)

    def forward(parameters: Sequence[Tensor]) -> tuple[Tensor, Mapping[str, Tensor]]:
        trained = {f"param.{name}": parameter for name, parameter in zip(names, parameters, strict=True)}
        return program.forward({**given, **trained}, present)

    output, pull_back, *rest = torch.func.vjp(forward, [given[f"param.{name}"] for name in names], has_aux=True)
    (gathered,) = rest
    teacher = Teacher(given["teacher"], scalars[DISTILLATION]) if recipe.distillation else None
    judged = judge(recipe.loss, output, given[spec.target.name], weight, teacher)
    (gradients,) = pull_back(judged.gradient)
    followed = [
        gradient + scalars["proximal_weight"] * (given[f"param.{name}"] - given[f"anchor.{name}"])
        for name, gradient in zip(names, gradients, strict=True)
    ]
    if recipe.clipping:
        followed = list(clip(followed, scalars["clip_norm"]))
    results = {"loss": judged.loss, **({} if judged.correct is None else {"correct": judged.correct})}
    roles = recipe.optimiser.slots()
    for name, gradient in zip(names, followed, strict=True):
        slots = [given[f"{role}.{name}"] for role in roles]
        stepped = advance(recipe.optimiser, given[f"param.{name}"], gradient, slots, scalars)
        results[f"next.param.{name}"] = stepped.parameter
        results.update({f"next.{role}.{name}": slot for role, slot in zip(roles, stepped.slots, strict=True)})
    results.update({f"next.{name}": tensor for name, tensor in gathered.items()})
    return results
