"""Strategy `data_parallel` in a worker: PyTorch's DistributedDataParallel around the cloud model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import GradBucket  # type: ignore[attr-defined]
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from coterie.child.job import ReportProgress
from coterie.cloud.collective import Rank, gang_of, replica, run_rank
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch
from coterie.cloud.epochs import Rows
from coterie.cloud.learner import Forward, share_of
from coterie.cloud.meter import Meter
from coterie.cloud.priority.layers import layers_of
from coterie.cloud.priority.order import numbers_in
from coterie.cloud.priority.sums import Sums
from coterie.cloud.priority.transfers import Transfers
from coterie.cloud.program import CloudProgram
from coterie.cloud.strategy.data_parallel import DataParallel
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_wire.structs import from_values

MEMORIES = ("error_dict", "p_memory_dict", "q_memory_dict")
"""PowerSGD's state for each bucket of gradients."""
STEPS = "power_sgd.steps"


class Module(nn.Module):
    """The cloud model as a module; its parameters are the program's own."""

    def __init__(self, cloud: CloudProgram) -> None:
        super().__init__()
        self._cloud = cloud
        for place, parameter in enumerate(cloud.parameters.values()):
            self.register_parameter(f"parameter_{place}", parameter)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Logits, with dropout."""
        return self._cloud.train_logits(inputs)


class Hook(NamedTuple):
    """How gradients are communicated; PowerSGD has state."""

    strategy: DataParallel
    memory: powerSGD_hook.PowerSGDState | None
    meter: Meter
    sent: list[int]
    """Bytes that this worker has sent for sums."""
    group: dist.ProcessGroup
    device: torch.device
    """The device of the gradients."""

    def reduce(self, bucket: GradBucket) -> Future[Tensor]:
        """The mean of a bucket's gradients over the workers."""
        self.meter.begin()
        count = bucket.buffer().numel()
        size = 4 * count
        if self.memory is not None:
            former = self.memory.total_numel_after_compression
            reduced = powerSGD_hook.powerSGD_hook(self.memory, bucket)
            # It starts sums when others have arrived; gloo deadlocks where workers start them in different orders.
            reduced.wait()
            size = 4 * (self.memory.total_numel_after_compression - former) or size  # 0: warming up
        elif self.strategy.hook == "fp16":
            reduced = default_hooks.fp16_compress_hook(self.group, bucket)
            size = 2 * count
        else:
            reduced = default_hooks.allreduce_hook(self.group, bucket)
        self.sent[0] += size

        def arrived(future: Future[Tensor]) -> Tensor:
            self.meter.end()
            found: Tensor = future.value()
            return found

        return reduced.then(arrived)

    def save(self) -> Mapping[str, Tensor]:
        """Its state, as tensors."""
        if self.memory is None:
            return {}
        kept = {
            f"power_sgd.{memory}.{bucket}": tensor
            for memory in MEMORIES
            for bucket, tensor in getattr(self.memory, memory).items()
        }
        return {**kept, STEPS: torch.tensor(self.memory.iter)}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """The inverse of `save`."""
        if self.memory is None:
            return
        self.memory.iter = int(saved[STEPS].item())
        for memory in MEMORIES:
            prefix = f"power_sgd.{memory}."
            for name, tensor in saved.items():
                if name.startswith(prefix):
                    getattr(self.memory, memory)[int(name.removeprefix(prefix))] = tensor.to(self.device)


def train_rank(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Train on one share of every batch. Raises MalformedDataset, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.training.strategy, DataParallel)  # the kind that this function is the member of
    with gang_of(arguments, strategy.count):
        rank = Rank(arguments, strategy.count)
        if strategy.transfers == "priority":
            return _train_by_priority(rank, strategy, report)
        return _train_by_buckets(rank, strategy, report)


def _train_by_buckets(rank: Rank, strategy: DataParallel, report: ReportProgress) -> WorkerResult:
    learner = rank.learner
    # With the search for unused parameters, buckets stay as they are first built, so that a restart has the same
    # sums, bit for bit; and a parameter that no gradient reaches has none.
    model = DistributedDataParallel(
        Module(learner.cloud), find_unused_parameters=True, init_sync=False, process_group=rank.group
    )
    hook = _hook(strategy, rank)
    model.register_comm_hook(hook, Hook.reduce)

    def forward(inputs: Sequence[Tensor]) -> Tensor:
        output: Tensor = model(*inputs)
        return output

    def train(epoch: int, course: Course) -> Epoch:
        for _, rows in course.steps(epoch):
            learner.optimiser.zero_grad()
            course.losses.append(_backward(rank, rows, forward))
            learner.optimiser.step()
        sent, hook.sent[0] = hook.sent[0], 0
        return _epoch(rank, course.losses, sent)

    return run_rank(rank, train, report, replica(rank, save=hook.save, restore=hook.restore))


def _train_by_priority(rank: Rank, strategy: DataParallel, report: ReportProgress) -> WorkerResult:
    most = numbers_in(strategy.piece_kib)
    layers = layers_of(rank.learner.cloud, most, beside=1)  # the duration of the last step is sent with the first layer
    transfers = Transfers(rank.learner.cloud, layers, Sums(rank, layers), most=most)
    sent_bytes = sum(4 * len(layer.numbers) for layer in layers)

    def train(epoch: int, course: Course) -> Epoch:
        taken = 0
        for _, rows in course.steps(epoch):
            course.losses.append(_backward(rank, rows, transfers.forward))
            transfers.backward_is_done()
            taken += 1
        transfers.finish()
        return _epoch(rank, course.losses, sent_bytes * taken)

    def finished() -> Mapping[str, Tensor]:
        """Between two steps, gradients are in flight; a checkpoint has the parameters that they change."""
        transfers.finish()
        return {}

    return run_rank(rank, train, report, replica(rank, save=finished))


def _backward(rank: Rank, rows: Rows, forward: Forward) -> float:
    """Compute this worker's gradients of a batch; returns its part of the loss, times the number of workers."""
    share = share_of(rows, rank.number, rank.count)
    weight = len(share) / len(rows)
    # A worker without a share computes one sample of weight 0, as the others wait for its sum.
    loss = rank.learner.backward(share if weight else rows[:1], factor=weight * rank.count, forward=forward)
    return loss * weight * rank.count


def _epoch(rank: Rank, losses: Sequence[float], sent: int) -> Epoch:
    rank.average_statistics()
    mean = rank.mean(torch.tensor(losses, dtype=torch.float64).mean())
    return Epoch(float(mean), rank.meter.read(), sent)


def _hook(strategy: DataParallel, rank: Rank) -> Hook:
    memory = None
    if strategy.hook == "power_sgd":
        memory = powerSGD_hook.PowerSGDState(
            rank.group, matrix_approximation_rank=strategy.rank, start_powerSGD_iter=strategy.warm_up_steps
        )
    return Hook(strategy, memory, rank.meter, [0], rank.group, rank.device)
