"""One step of a cloud model, forward and backward, to see that it trains."""

import torch
from torch.export import ExportedProgram

from coterie.learning.cloud.program import CloudProgram
from coterie.learning.compile.errors import NotTrainable

SAMPLES = 2


def try_cloud(program: ExportedProgram) -> CloudProgram:
    """The cloud model, after one step on made-up samples. Raises UnsupportedSignature, FixedBatch or NotTrainable."""
    cloud = CloudProgram(program)
    inputs = [
        torch.zeros(SAMPLES, *spec.shape, dtype=torch.int64 if spec.dtype == "int64" else torch.float32)
        for spec in cloud.signature.inputs
    ]
    target = torch.arange(SAMPLES) % cloud.signature.classes
    try:
        loss = torch.nn.functional.cross_entropy(cloud.train_logits(inputs), target)
        torch.autograd.backward(loss)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise NotTrainable(detail=f"the cloud model: {str(error).strip().splitlines()[0][:300]}") from error
    gradients = [tensor.grad for tensor in cloud.parameters.values() if tensor.grad is not None]
    if not gradients or not all(bool(torch.isfinite(gradient).all()) for gradient in (loss, *gradients)):
        raise NotTrainable(detail="the cloud model has no finite gradient")
    return cloud
