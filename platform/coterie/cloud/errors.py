"""How training in the cloud fails."""

from coterie.child.errors import DiskFull, OutOfMemory, OutOfTime
from coterie.core.errors import CoterieError, ErrorKind


class Diverged(CoterieError):
    """Fields: epoch."""

    code = "training.diverged"
    kind = ErrorKind.INVALID
    sentence = "The loss was no longer finite in epoch {epoch}: use a smaller learning rate."


class NotLearning(CoterieError):
    """Fields: epoch, detail."""

    code = "training.not_learning"
    kind = ErrorKind.INVALID
    sentence = "It was ended in epoch {epoch}, because {detail}: use a smaller learning rate."


class CannotSplit(CoterieError):
    """Fields: problem."""

    code = "training.cannot_split"
    kind = ErrorKind.INVALID
    sentence = "The cloud model does not suit this strategy: {problem}."


class WorkersDied(CoterieError):
    """Fields: worker, times, output (its last words)."""

    code = "training.workers_died"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Worker {worker} died {times} times before an epoch was done: {output}"


class CheckpointLost(CoterieError):
    """Fields: none."""

    code = "training.checkpoint_lost"
    kind = ErrorKind.UNAVAILABLE
    sentence = "A checkpoint was not what had been written to it: look after the disk of the checkpoints."


class LaunchFailed(CoterieError):
    """Fields: launcher, detail (in its words)."""

    code = "training.launch_failed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The gang that {launcher} was to run ended: {detail}"


class NoGpu(CoterieError):
    """Fields: gpu (its number), found (how many PyTorch finds)."""

    code = "training.no_gpu"
    kind = ErrorKind.UNAVAILABLE
    sentence = "PyTorch finds {found} GPUs on this host, and none of number {gpu}: look after its driver."


class GpusUnusable(CoterieError):
    """Fields: detail (PyTorch's words, and what the process may not do that drivers of GPUs need)."""

    code = "training.gpus_unusable"
    kind = ErrorKind.UNAVAILABLE
    sentence = "PyTorch cannot compute on the GPUs of this host: {detail}"


class GpuFull(CoterieError):
    """Fields: detail (PyTorch's words)."""

    code = "training.gpu_full"
    kind = ErrorKind.INVALID
    sentence = "The memory of the GPU is too small: take smaller batches, bf16 or strategy sharded. {detail}"


class CannotCompile(CoterieError):
    """Fields: detail (PyTorch's words)."""

    code = "training.cannot_compile"
    kind = ErrorKind.INVALID
    sentence = "torch.compile cannot compile the cloud model here; train it without: {detail}"


OF_COMPUTING = (NoGpu, GpuFull, CannotCompile)
"""Errors of a process that cannot compute as requested."""
OF_WORKERS = (CannotSplit, WorkersDied, CheckpointLost, OutOfMemory, OutOfTime, DiskFull, *OF_COMPUTING)
"""Errors of a job because of its workers."""
