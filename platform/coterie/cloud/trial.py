"""One step of a cloud model, forward and backward, to check that it trains."""

import numpy as np
import torch
from torch.export import ExportedProgram

from coterie.cloud.program import CloudProgram
from coterie.compile.errors import NotTrainable
from coterie.compile.explanations import explain
from coterie.compile.flat import REFUSALS
from coterie.compile.loss_program import Criterion, LossProgram
from coterie.compile.ranges import ranges_of
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.signature import Signature
from coterie.compile.synthetic import Ranges, describe_ranges, flags, synthetic_array
from coterie.evaluation.datasets import choices

SAMPLES = 4


def try_cloud(program: ExportedProgram, loss: Criterion) -> CloudProgram:
    """The cloud model, after one step on synthetic samples.

    Raises UnsupportedSignature, LossMismatch, NoGradient, FixedBatch or NotTrainable.
    """
    cloud = CloudProgram(program, loss)
    ranges = {**ranges_of(program), **_of_target(cloud.signature, loss)}
    problems = []
    for flag in flags(cloud.signature.inputs):
        problem = _problem(cloud, ranges, flag=flag)
        if problem is None:
            return cloud
        problems.append(problem)
    raise NotTrainable(detail=f"the cloud model: {problems[0]}")


def _of_target(signature: Signature, loss: Criterion) -> Ranges:
    if isinstance(loss, LossProgram):
        return loss.ranges
    many = choices(signature.task, signature.output)
    return {} if many is None else {signature.target.name: (0, many - 1)}


def _problem(cloud: CloudProgram, ranges: Ranges, *, flag: bool) -> str | None:
    """Why a step on synthetic samples fails; None where it does not."""
    generator, filled = np.random.default_rng(0), cloud.loss.padding if isinstance(cloud.loss, NextToken) else 0
    specs = (*cloud.signature.inputs, cloud.signature.target)
    *inputs, target = (
        torch.from_numpy(synthetic_array(spec, SAMPLES, generator, ranges, filled=filled, flag=flag)) for spec in specs
    )
    made_of = f"synthetic samples ({describe_ranges(cloud.signature.inputs, ranges)})"
    for tensor in cloud.parameters.values():
        tensor.grad = None
    try:
        output = cloud.train_logits(inputs)
        found = cloud.loss_and_gradient(output, target)
        torch.autograd.backward(output, found.gradient.detach())
    except REFUSALS as error:
        return f"it stops at {made_of}: {explain(str(error).strip().splitlines()[0])}"
    gradients = {name: tensor.grad for name, tensor in cloud.parameters.items() if tensor.grad is not None}
    if not gradients:
        return f"no parameter has a gradient of {made_of}"
    unusual = [name for name, gradient in gradients.items() if not bool(torch.isfinite(gradient).all())]
    if unusual or not bool(torch.isfinite(found.loss)):
        return f"of {made_of} the loss or the gradients of {', '.join(unusual[:3]) or 'its output'} are not finite"
    return None
