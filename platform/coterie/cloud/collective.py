"""Collective communication of a gang's workers: over the loopback interface, or between hosts.

Tensors in CPU memory use gloo; those on GPUs use NCCL, where each worker has its own GPU.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
import torch.distributed as dist
from torch import Tensor
from torch.export import ExportedProgram

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import Together
from coterie.cloud.checkpoints import Stored, read_file
from coterie.cloud.computing import CPU
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch, Train, stored_epochs, train_epochs
from coterie.cloud.epochs import Moment
from coterie.cloud.learner import Learner
from coterie.cloud.meter import Meter
from coterie.cloud.pace import PaceCheck
from coterie.cloud.parts import OwnParts, delete_other_parts, part_paths
from coterie.cloud.saved_epochs import SavedState
from coterie.cloud.training_state import restore_training, save_training
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie.cloud.writer import Writer
from coterie_learning.random import derive_seed

PATIENCE = timedelta(hours=6)
"""How long a worker waits for the others: a dead one is noticed at once, a slow one may take long."""
MEETING = timedelta(minutes=3)
"""How long workers on several hosts wait for each other to connect."""
STOP, GO = 0, 1
BACKEND = "addressed_gloo"
"""Gloo with the options that it is given: under its own name, PyTorch 2.13 drops them, and the address with them."""


class Rank:
    """One worker of a gang with its own copy of the model."""

    def __init__(self, arguments: WorkerArguments, count: int, program: ExportedProgram | None = None) -> None:
        """`program`: the cloud model, if it has been read already."""
        self.number, self.count = arguments.number, count
        self.learner = Learner(arguments.training, program, gpu=arguments.gpu)
        self.device = self.learner.computing.device
        self.group = _group_on(self.device)
        """Of all workers, for what is where the model is."""
        seed = arguments.training.seed
        # The first worker draws as a single process would; the others differ, or their dropout would be correlated.
        torch.manual_seed(seed if self.number == 0 else derive_seed(seed, "worker", self.number))
        self.meter = Meter()

    def mean(self, tensor: Tensor) -> Tensor:
        """The mean of the workers' tensors, the same bits for all."""
        with self.meter.running():
            dist.all_reduce(tensor, group=self.group if tensor.device == self.device else everyone())
        tensor /= self.count
        return tensor

    def average_statistics(self) -> None:
        """Replace running statistics, which have no gradient, by their mean over the workers."""
        for name, tensor in self.learner.cloud.state.items():
            if name not in self.learner.cloud.parameters and tensor.is_floating_point():
                self.mean(tensor)


def everyone() -> dist.ProcessGroup:
    """The group of all workers."""
    assert dist.group.WORLD is not None, "they have met"
    return dist.group.WORLD


def _group_on(device: torch.device) -> dist.ProcessGroup:
    if device.type == CPU.type:
        return everyone()
    group: dist.ProcessGroup = dist.new_group(backend="nccl", timeout=PATIENCE, device_id=device)
    return group


class GroupFacts(Protocol):
    """PyTorch's description of a group that it creates."""

    store: dist.Store  # type: ignore[name-defined]
    group_rank: int
    group_size: int


def gloo_with(meeting: GroupFacts, options: object) -> dist.ProcessGroupGloo:
    """Create a gloo group; waits until all members have connected."""
    return dist.ProcessGroupGloo(meeting.store, meeting.group_rank, meeting.group_size, options)  # type: ignore[arg-type]


def _gloo_options(together: Together | None) -> object:
    options = dist.ProcessGroupGloo._Options()  # type: ignore[attr-defined]  # there is no other way to name the interface
    options._timeout = PATIENCE
    device = {"interface": "lo"} if together is None else {"hostname": together.address}
    options._devices = [dist.ProcessGroupGloo.create_device(**device)]
    return options


@contextmanager
def gang_of(arguments: WorkerArguments, count: int) -> Iterator[None]:
    """Connect to the other workers; those of a gang on one host communicate over the loopback interface only."""
    together = arguments.training.together
    options = _gloo_options(together)
    if together is None:
        store: dist.Store = dist.FileStore(arguments.meeting, count)  # type: ignore[attr-defined, name-defined]
    else:
        listens = arguments.number == 0
        meeting = dist.TCPStore(together.leader, together.port, count, listens, MEETING)  # type: ignore[attr-defined]
        store = dist.PrefixStore(together.secret, meeting)  # type: ignore[attr-defined]
    if not hasattr(dist.Backend, BACKEND.upper()):
        dist.Backend.register_backend(BACKEND, gloo_with, extended_api=True, devices=["cpu"])
    dist.init_process_group(BACKEND, store=store, rank=arguments.number, world_size=count, pg_options=options)
    try:
        yield
    finally:
        dist.destroy_process_group()


class CheckpointPart(NamedTuple):
    """How a worker's part of a checkpoint is written and read."""

    save: Callable[[Course], bytes]
    """The state from which this worker resumes, including the course's."""
    find: Callable[[Sequence[Path]], Callable[[], Mapping[str, Tensor]] | None]
    """Given the files of all parts in the order of workers: the function that restores this worker and returns the
    course's state; None where the parts do not fit.
    """


def nothing_beside() -> Mapping[str, Tensor]:
    """The extra state of a strategy that has none."""
    return {}


def replica(
    rank: Rank,
    *,
    save: Callable[[], Mapping[str, Tensor]] = nothing_beside,
    restore: Callable[[Mapping[str, Tensor]], None] = lambda _saved: None,
) -> CheckpointPart:
    """For a worker with the whole model: saves everything, with what `save` returns; restores with the same number
    of workers.
    """
    learner = rank.learner

    def saved(course: Course) -> bytes:
        beside = {**save(), **learner.computing.random_states(), **course.remembered()}
        return save_training(learner.cloud, learner.optimiser, beside)

    def find(paths: Sequence[Path]) -> Callable[[], Mapping[str, Tensor]] | None:
        state = read_file(paths[rank.number]) if len(paths) == rank.count else None
        if state is None:
            return None

        def load() -> Mapping[str, Tensor]:
            beside = restore_training(learner.cloud, learner.optimiser, state)
            learner.computing.restore_random(beside)
            restore(beside)
            return beside

        return load

    return CheckpointPart(saved, find)


def run_rank(rank: Rank, train: Train, report: ReportProgress, part: CheckpointPart) -> WorkerResult:
    """Train in step with the others: the first worker evaluates each epoch and decides whether another one follows, and
    after which steps all of them save.

    Every worker has written its part before the first writes the checkpoint. Raises Diverged in the first.
    """
    checkpoints = rank.learner.arguments.checkpoints
    stored = stored_epochs(checkpoints)
    at = Moment() if stored is None else stored.moment
    parts, load = None, None
    if checkpoints is not None:
        directory = Path(checkpoints)
        if rank.number == 0:
            delete_other_parts(directory, at)
        parts = _Parts(rank, OwnParts(directory, rank.number, rank.count, at))
        load = part.find(part_paths(directory, at)) if stored is not None else None
    begin = stored if _agreed(stored is None or load is not None) else None
    remembered = load() if begin is not None and load is not None else {}
    with Writer() as writer:

        def save(course: Course) -> bytes:
            assert parts is not None, "there are checkpoints"
            writer.then(partial(parts.write, course.moment, part.save(course)))
            return b""

        if rank.number == 0:
            return _lead(
                rank, train, report, writer, begin, SavedState(save, lambda _saved: remembered, _broadcast_pace)
            )

        def save_too() -> None:
            writer.wait()
            save(course)

        course = Course(rank.learner.batches, check=None if parts is None else _receive_pace, save=save_too)
        if begin is not None:
            course.restore(begin.moment, remembered)
        epoch = course.moment.epochs
        while _receive() == GO:
            train(epoch, course)
            epoch += 1
            if parts is not None:
                save_too()
        return WorkerResult()


def _lead(
    rank: Rank, train: Train, report: ReportProgress, writer: Writer, begin: Stored | None, kept: SavedState
) -> WorkerResult:
    def lead(epoch: int, course: Course) -> Epoch:
        _broadcast(GO)
        return train(epoch, course)

    trained = train_epochs(rank.learner, lead, kept, report, writer, stored=begin, workers=rank.count)
    _broadcast(STOP)
    return WorkerResult(trained)


class _Parts:
    """One worker's checkpoint parts, written by a thread that has its own process group with those of the others."""

    def __init__(self, rank: Rank, own: OwnParts) -> None:
        self._own = own
        self._writers: dist.ProcessGroup = dist.new_group(
            backend=BACKEND, pg_options=_gloo_options(rank.learner.arguments.together), timeout=PATIENCE
        )

    def write(self, at: Moment, content: bytes) -> None:
        """Write this worker's part; returns when all workers have written theirs."""
        self._own.write(at, content)
        dist.barrier(group=self._writers)
        self._own.delete_older(at)


def _agreed(mine: bool) -> bool:
    """Whether all workers agree."""
    votes = torch.tensor([int(mine)])
    dist.all_reduce(votes, op=dist.ReduceOp.MIN)
    return bool(votes.item())


def _broadcast(word: int) -> None:
    dist.broadcast(torch.tensor([word]), src=0)


def _receive() -> int:
    word = torch.tensor([STOP])
    dist.broadcast(word, src=0)
    return int(word.item())


def _broadcast_pace(check: PaceCheck) -> None:
    dist.broadcast(torch.tensor([int(check.due), check.steps]), src=0)


def _receive_pace(_steps: int) -> PaceCheck:
    words = torch.zeros(2, dtype=torch.int64)
    dist.broadcast(words, src=0)
    due, steps = words.tolist()
    return PaceCheck(bool(due), steps)
