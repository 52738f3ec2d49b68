"""The work of job `gpus`: each GPU that PyTorch finds multiplies two matrices."""

import torch

from coterie.child.job import ReportProgress
from coterie.cloud.gpus_job import GpusArguments, GpusResult

SIZE = 64


def count_gpus(arguments: GpusArguments, report: ReportProgress) -> GpusResult:  # noqa: ARG001 - as all jobs
    """Raises what PyTorch does where one of them cannot."""
    found = torch.cuda.device_count()
    for number in range(found):
        ones = torch.ones(SIZE, SIZE, device=torch.device("cuda", number))
        assert float((ones @ ones).sum()) == SIZE**3, f"GPU {number} computes"
    return GpusResult(found)
