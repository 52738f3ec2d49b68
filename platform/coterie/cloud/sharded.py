"""Strategy `sharded` in a worker: PyTorch's FSDP2 (``fully_shard``) around each block of the cloud model."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from coterie.child.job import ReportProgress
from coterie.child.memory import give_large_back
from coterie.cloud.blocks import Block, blocks_at, find_cuts
from coterie.cloud.collective import Rank, gang_of, run_rank
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch
from coterie.cloud.learner import share_of
from coterie.cloud.model_share import WHOLE, ModelShare, local
from coterie.cloud.parts import share_of_rows
from coterie.cloud.strategy.sharded import Sharded
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie.compile.errors import UnsupportedParameter
from coterie.compile.upload import load_without_weights
from coterie.compile.without_weights import ProgramWithoutWeights
from coterie_wire.structs import from_values


class Chain(nn.Module):
    """Blocks that run one after the other."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, *inputs: Tensor) -> Tensor:
        """The last block's output."""
        first, *others = self.blocks
        found: Tensor = first(*inputs)
        for block in others:
            found = block(found)
        return found


class Shards:
    """The model, with this worker's rows of each parameter; the first worker has all of them during evaluation."""

    def __init__(self, rank: Rank, weightless: ProgramWithoutWeights) -> None:
        """Reads this worker's rows of parameters that `weightless` has without numbers. Raises UnsupportedParameter."""
        self.rank, self._cloud = rank, rank.learner.cloud
        blocks = blocks_at(self._cloud, find_cuts(self._cloud).places)
        mesh = DeviceMesh.from_group(rank.group, rank.device.type)
        # FSDP does not shard a parameter that is a single number: every worker has it.
        self._numbers = {parameter for parameter in self._cloud.parameters.values() if parameter.dim() == 0}
        for block in blocks:
            if self._cloud.computing.compiled:
                block.compile()
            fully_shard(block, mesh=mesh, ignored_params=self._numbers)
        self.model = Chain(blocks)
        fully_shard(self.model, mesh=mesh, ignored_params=self._numbers)
        # Shards of parameters without numbers have no numbers either, until memory is allocated.
        self.model._apply(self._with_room)  # type: ignore[no-untyped-call]
        self.parameters = {name: part for block in blocks for name, part in block.parameters_by_name().items()}
        self._read(weightless)
        learner = rank.learner
        self.optimiser = learner.computing.adamw(self.parameters.values(), learner.arguments.learning_rate)

    @property
    def sent_bytes(self) -> int:
        """In a step: all rows of the others are received twice, and its own rows of all gradients are sent to it
        once.
        """
        size = sum(4 * parameter.numel() for parameter in self.parameters.values())
        return 3 * size * (self.rank.count - 1) // self.rank.count

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits, with dropout."""
        with self._cloud.computing.in_training():
            output: Tensor = self.model(*inputs)
            return output.to(torch.float32)

    def _with_room(self, tensor: Tensor) -> Tensor:
        return torch.empty_like(tensor, device=self.rank.device) if tensor.is_meta else tensor

    @torch.no_grad()
    def _read(self, weightless: ProgramWithoutWeights) -> None:
        for name in weightless.stored.keys() & self.parameters.keys():
            mine = local(self.parameters[name])
            if len(mine):
                begin, stop = share_of_rows(len(self.parameters[name]), self.rank.number, self.rank.count)
                rows = weightless.rows(name, begin, stop)
                if not bool(rows.isfinite().all()):
                    raise UnsupportedParameter(name=name, found="not finite")
                mine.copy_(rows)

    def release(self) -> None:
        """Free all gathered parameters."""
        for name, parameter in self.parameters.items():
            if isinstance(parameter, DTensor):
                self._cloud.put(name, torch.empty(parameter.shape, device="meta"))

    @torch.no_grad()
    def gather(self) -> None:
        """Gather all parameters at the first worker, one after the other."""
        for name, parameter in self.parameters.items():
            if isinstance(parameter, DTensor):
                whole = parameter.full_tensor()
                if self.rank.number == 0:
                    self._cloud.put(name, whole.clone())

    def sum_numbers(self) -> None:
        """Give unsharded parameters the mean of the workers' gradients."""
        for parameter in self._cloud.parameters.values():
            if parameter in self._numbers and parameter.grad is not None:
                self.rank.mean(parameter.grad)

    def share(self) -> ModelShare:
        """The part of it that this worker writes to checkpoints."""
        rank, cloud = self.rank, self._cloud
        rows = {
            name: share_of_rows(len(parameter), rank.number, rank.count) if parameter.dim() else WHOLE
            for name, parameter in self.parameters.items()
        }
        buffers = {name: tensor for name, tensor in cloud.state.items() if name not in cloud.parameters}
        writes = frozenset(buffers if rank.number == 0 else ())
        return ModelShare(rank, self.parameters, rows, buffers, writes, self.optimiser)


def load_shards(arguments: WorkerArguments, count: int) -> Shards:
    """This worker's share of the model; no worker reads the whole. Raises what `Learner` and `Shards` raise."""
    weightless = load_without_weights(Path(arguments.training.cloud))
    shards = Shards(Rank(arguments, count, weightless.program), weightless)
    shards.release()
    return shards


def train_rank(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Train on one share of every batch. Raises MalformedDataset, Diverged, or what `Learner` raises."""
    give_large_back()  # the C library would retain more memory of freed blocks than sharding saves
    strategy = from_values(arguments.training.strategy, Sharded)  # the kind that this function is the member of
    with gang_of(arguments, strategy.count):
        shards = load_shards(arguments, strategy.count)
        rank = shards.rank

        def train(epoch: int, course: Course) -> Epoch:
            shards.release()
            taken = 0
            with rank.meter.waiting():
                for _, rows in course.steps(epoch):
                    share = share_of(rows, rank.number, rank.count)
                    weight = rank.count * len(share) / len(rows)
                    shards.optimiser.zero_grad()
                    # A worker without a share computes one sample of weight 0: the others wait for its rows.
                    loss = rank.learner.backward(share if weight else rows[:1], factor=weight, forward=shards.forward)
                    shards.sum_numbers()
                    shards.optimiser.step()
                    course.losses.append(loss * weight)
                    taken += 1
            rank.average_statistics()
            mean = rank.mean(torch.tensor(course.losses, dtype=torch.float64).mean())
            shards.gather()
            return Epoch(float(mean), rank.meter.read(), shards.sent_bytes * taken)

        return run_rank(rank, train, report, shards.share().part())
