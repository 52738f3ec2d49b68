"""Strategy `pipeline` in a worker: PyTorch's pipeline schedules (``torch.distributed.pipelining``) over blocks.

Stage s is with worker s modulo the number of workers. The shapes that cross are computed beforehand, so workers send
nothing but numbers.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B

from coterie.child.job import ReportProgress
from coterie.cloud.blocks import Block, Cut, blocks_at, even_cuts, find_cuts
from coterie.cloud.collective import Rank, gang_of, run_rank
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch
from coterie.cloud.epochs import Rows
from coterie.cloud.errors import CannotSplit
from coterie.cloud.model_share import WHOLE, ModelShare
from coterie.cloud.program import CloudProgram
from coterie.cloud.strategy.pipeline import Pipeline
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_wire.structs import from_values


class Stage(nn.Module):
    """A block with an output that can be sent."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block

    def forward(self, *inputs: Tensor) -> Tensor:
        """Its output, contiguous in memory."""
        found: Tensor = self.block(*inputs)
        return found.contiguous()


class Microbatches(NamedTuple):
    """A batch in parts of equal size."""

    rows: Rows
    """The batch's rows, some of them repeated where it does not divide evenly."""
    weight: Tensor
    """[rows]: 1 for the first occurrence, then 0."""

    @classmethod
    def of(cls, rows: Rows, parts: int) -> "Microbatches":
        """`rows` in as many parts of at least two, if there are two: one sample alone has no statistics."""
        size = max(-(-len(rows) // parts), min(2, len(rows)))
        weight = torch.zeros(parts * size)
        weight[: len(rows)] = 1
        return cls(np.resize(rows, parts * size), weight)


class Loss:
    """The mean loss of each batch, on the worker with the last stage."""

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self._batch = Microbatches(np.zeros(0, np.int64), torch.zeros(0))
        self._labels, self._total = torch.zeros(0), 0.0

    def begin(self, batch: Microbatches) -> None:
        """Start another batch."""
        self._batch, self._total = batch, 0.0
        self._labels = self._rank.learner.cloud.target_of(self._rank.learner.dataset.take(batch.rows))

    def read(self) -> float:
        """The loss of the batch that is done."""
        return self._total

    def __call__(self, output: Tensor, places: Tensor) -> Tensor:
        """A loss whose gradient by `output` is that of the part of the batch at `places`."""
        weight = self._batch.weight[places.cpu()].to(places.device)
        factor = weight.sum() / self._batch.weight.sum()
        output = output.to(torch.float32)
        found = self._rank.learner.cloud.loss_and_gradient(output, self._labels[places], weight)
        self._total += float(found.loss.detach() * factor)
        return (output * (found.gradient.detach() * factor)).sum()


class Line(NamedTuple):
    """A schedule for microbatches of one size."""

    schedule: Schedule1F1B | ScheduleInterleaved1F1B
    sent_bytes: int
    """Bytes that this worker sends in a step."""


class Stages:
    """The model in stages, some of them with this worker; the first worker has all of them during evaluation."""

    def __init__(self, rank: Rank, strategy: Pipeline) -> None:
        """Raises CannotSplit."""
        self._rank, self._cloud, self._strategy = rank, rank.learner.cloud, strategy
        self._blocks = blocks_at(self._cloud, choose_cuts(self._cloud, strategy))
        parameters = {name: stage for stage, block in enumerate(self._blocks) for name in block.parameters_by_name()}
        buffers: dict[str, int] = {}
        for stage, block in enumerate(self._blocks):
            buffers = dict.fromkeys(block.buffers_by_name(), stage) | buffers
        self._owners = {name: stage % rank.count for name, stage in (parameters | buffers).items()}
        self.parameters = {name: self._cloud.parameters[name] for name in parameters if self._has(name)}
        self._shapes = {name: tensor.shape for name, tensor in self._cloud.state.items()}
        learner = rank.learner
        self.optimiser = learner.computing.adamw(self.parameters.values(), learner.arguments.learning_rate)
        if learner.computing.compiled:
            for stage, block in enumerate(self._blocks):
                if self._computes(stage):
                    block.compile()
        self.loss = Loss(rank)
        batch_size, samples = rank.learner.arguments.batch_size, len(rank.learner.rows.training)
        sizes = {min(batch_size, samples), samples % batch_size or batch_size}
        some = np.zeros(max(sizes), np.int64)
        self._lines: dict[int, Line] = {}
        for size in sorted(sizes):
            batch = Microbatches.of(some[:size], strategy.microbatches)
            self._lines[len(batch.rows)] = self._line(len(batch.rows) // strategy.microbatches)

    def step(self, rows: Rows) -> tuple[float, int]:
        """Update the parameters with a batch; returns its loss, or 0 without the last stage, and the bytes sent."""
        batch = Microbatches.of(rows, self._strategy.microbatches)
        line, last = self._lines[len(batch.rows)], len(self._blocks) - 1
        inputs = self._cloud.inputs_of(self._rank.learner.dataset.take(batch.rows)) if self._computes(0) else []
        target = None
        if self._computes(last):
            self.loss.begin(batch)
            target = torch.arange(len(batch.rows), device=self._rank.device)
        self.optimiser.zero_grad()
        with self._cloud.computing.in_training():
            line.schedule.step(*inputs, target=target, return_outputs=False)
        self.optimiser.step()
        return self.loss.read(), line.sent_bytes

    @torch.no_grad()
    def release(self) -> None:
        """Free the parameters of other workers' stages."""
        for name, parameter in self._cloud.parameters.items():
            if name in self._owners and not self._has(name):
                parameter.data = torch.empty(0, device=self._rank.device)

    @torch.no_grad()
    def gather(self) -> None:
        """Send the other workers' tensors to the first worker, one after the other."""
        for name, owner in self._owners.items():
            if owner and self._rank.number == owner:
                dist.send(self._cloud.state[name].detach().contiguous(), dst=0, group=self._rank.group)
            elif owner and self._rank.number == 0:
                self._receive(name, owner)

    def share(self) -> ModelShare:
        """The part of it that this worker writes to checkpoints."""
        own = [block for stage, block in enumerate(self._blocks) if self._computes(stage)]
        buffers = {name: tensor for block in own for name, tensor in block.buffers_by_name().items()}
        writes = frozenset(name for name in buffers if self._has(name))
        rows = dict.fromkeys(self.parameters, WHOLE)
        return ModelShare(self._rank, self.parameters, rows, buffers, writes, self.optimiser)

    def _computes(self, stage: int) -> bool:
        return stage % self._rank.count == self._rank.number

    def _has(self, name: str) -> bool:
        return self._owners[name] == self._rank.number

    def _receive(self, name: str, owner: int) -> None:
        state = self._cloud.state[name]
        received = torch.empty(self._shapes[name], dtype=state.dtype, device=self._rank.device)
        dist.recv(received, src=owner, group=self._rank.group)
        state.data = received

    def _line(self, size: int) -> Line:
        """The schedule of microbatches of `size` samples."""
        count, crossing = len(self._blocks), self._crossing(size)
        stages = [
            PipelineStage(
                Stage(block),
                stage,
                count,
                self._rank.device,
                input_args=crossing[stage],
                output_args=crossing[stage + 1],
                group=self._rank.group,
            )
            for stage, block in enumerate(self._blocks)
            if self._computes(stage)
        ]
        sent = 0
        for former in range(count - 1):
            ends = self._computes(former) + self._computes(former + 1)  # for the tensor, and for its gradient
            sent += crossing[former + 1][0].nbytes * ends * (self._rank.count > 1)
        parts = self._strategy.microbatches
        if self._strategy.stages_each == 1:
            (stage,) = stages
            return Line(Schedule1F1B(stage, parts, loss_fn=self.loss, scale_grads=False), sent * parts)
        return Line(ScheduleInterleaved1F1B(list(stages), parts, loss_fn=self.loss, scale_grads=False), sent * parts)

    def _crossing(self, size: int) -> list[tuple[Tensor, ...]]:
        """Meta tensors of each stage's inputs, and of the output, for `size` samples."""
        inputs = self._cloud.inputs_of(self._rank.learner.dataset.take(np.zeros(size, np.int64)))
        with self._cloud.computing.in_training(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
            crossing: list[tuple[Tensor, ...]] = [tuple(mode.from_tensor(tensor) for tensor in inputs)]
            for block in self._blocks:
                crossing.append((Stage(block)(*crossing[-1]),))
        return [tuple(_numberless(tensor) for tensor in tensors) for tensors in crossing]


def choose_cuts(cloud: CloudProgram, strategy: Pipeline) -> list[Cut]:
    """Where stages begin. Raises CannotSplit."""
    cuts = find_cuts(cloud)
    problem = strategy.misfit_of(cuts.splits())
    if problem is not None:
        raise CannotSplit(problem=problem)
    if strategy.split_before:
        return [cut for cut in cuts.places if cut.name in strategy.split_before]
    total = sum(parameter.numel() for parameter in cloud.parameters.values())
    return even_cuts(cuts.places, strategy.stages, total)


def train_rank(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Compute some stages of every batch. Raises MalformedDataset, CannotSplit, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.training.strategy, Pipeline)  # the kind that this function is the member of
    with gang_of(arguments, strategy.count):
        rank = Rank(arguments, strategy.count)
        stages = Stages(rank, strategy)

        def train(epoch: int, course: Course) -> Epoch:
            stages.release()
            sent_bytes = 0
            with rank.meter.waiting():
                for _, rows in course.steps(epoch):
                    loss, sent = stages.step(rows)
                    course.losses.append(loss * rank.count)
                    sent_bytes += sent
            mean = rank.mean(torch.tensor(np.mean(course.losses), dtype=torch.float64))
            stages.gather()
            return Epoch(float(mean), rank.meter.read(), sent_bytes)

        return run_rank(rank, train, report, stages.share().part())


def _numberless(tensor: Tensor) -> Tensor:
    """Its shape and type; of floating-point numbers, with a gradient."""
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta", requires_grad=tensor.is_floating_point())
