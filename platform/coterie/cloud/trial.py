"""One step of a cloud model, forward and backward, to see that it trains."""

import torch
from torch.export import ExportedProgram

from coterie.cloud.program import CloudProgram
from coterie.compile.dtypes import TORCH_TYPES
from coterie.compile.errors import NotTrainable
from coterie.compile.loss_program import Criterion
from coterie.compile.losses import judge

SAMPLES = 2


def try_cloud(program: ExportedProgram, loss: Criterion) -> CloudProgram:
    """The cloud model, after one step on made-up samples.

    Raises UnsupportedSignature, LossMismatch, FixedBatch or NotTrainable.
    """
    cloud = CloudProgram(program, loss)
    inputs = [torch.zeros(SAMPLES, *spec.shape, dtype=TORCH_TYPES[spec.dtype]) for spec in cloud.signature.inputs]
    wanted = cloud.signature.target
    target = torch.zeros(SAMPLES, *wanted.shape, dtype=TORCH_TYPES[wanted.dtype])
    try:
        output = cloud.train_logits(inputs)
        judged = judge(cloud.loss, output, target, torch.ones(SAMPLES), None)
        torch.autograd.backward(output, judged.gradient.detach())
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise NotTrainable(detail=f"the cloud model: {str(error).strip().splitlines()[0][:300]}") from error
    gradients = [tensor.grad for tensor in cloud.parameters.values() if tensor.grad is not None]
    if not gradients or not all(bool(torch.isfinite(gradient).all()) for gradient in (judged.loss, *gradients)):
        raise NotTrainable(detail="the cloud model has no finite gradient")
    return cloud
