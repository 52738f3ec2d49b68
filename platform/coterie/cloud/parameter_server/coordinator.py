"""The job's first process: it starts servers and workers, requests epochs, and evaluates the model after each.

A worker that dies restarts alone, and the others wait for it or continue, depending on the kind of updates. When a
server dies, its part of the model is lost: all start again from the last checkpoint.
"""

import asyncio
import json
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from coterie.child.job import ReportProgress
from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch, stored_epochs, train_epochs
from coterie.cloud.epochs import Moment
from coterie.cloud.errors import CheckpointLost, WorkersDied
from coterie.cloud.exchange.frames import Frame, largest, pack
from coterie.cloud.exchange.server import Exchange
from coterie.cloud.exchange.statistics import Statistics
from coterie.cloud.gang import Deaths, Volunteers
from coterie.cloud.learner import Learner
from coterie.cloud.parameter_server.division import STATISTICS_SERVER, divide
from coterie.cloud.parameter_server.messages import (
    BEGIN,
    COMMUNICATION_S,
    CONCLUDE,
    DIRECTORY,
    EPOCH,
    FIRST,
    FOUND,
    LOSS,
    NUMBER,
    NUMBERS,
    PORT,
    PORTS,
    SENT_BYTES,
    SIZES,
    STATISTICS,
    STEP,
    TRAIN,
    WHAT,
)
from coterie.cloud.parts import delete_other_parts
from coterie.cloud.priority.layers import names_together
from coterie.cloud.priority.order import numbers_in
from coterie.cloud.saved_epochs import SavedState
from coterie.cloud.strategy.parameter_server import ParameterServer
from coterie.cloud.worker_job import WorkerArguments
from coterie.cloud.writer import Writer
from coterie.core.errors import CoterieError
from coterie_wire.structs import from_values
from coterie_wire.tensors import Array

T = TypeVar("T")
NOTHING: Mapping[str, Array] = {}


def train_with_servers(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train from the last checkpoint on. Raises WorkersDied, CheckpointLost, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.strategy, ParameterServer)  # the kind that this function is the work of
    with asyncio.Runner() as runner, _parts(arguments.checkpoints) as directory, Writer() as writer:
        coordinator = Coordinator(arguments, strategy, directory)
        stored = stored_epochs(arguments.checkpoints)
        at = Moment() if stored is None else stored.moment
        delete_other_parts(directory, at)
        attempts = _Attempts(runner, coordinator, writer)
        try:
            if stored is not None and at.epochs < arguments.epochs and not attempts.find(at):
                stored = None
                attempts.end()
            # The servers' parts are the state that training resumes from.
            kept = SavedState(attempts.save, restore=lambda _saved: {})
            return train_epochs(
                coordinator.learner, attempts.train, kept, report, writer, stored=stored, workers=strategy.workers
            )
        finally:
            attempts.end()


@contextmanager
def _parts(checkpoints: str | None) -> Iterator[Path]:
    """The directory of servers' parts; a job without checkpoints needs it while it runs."""
    if checkpoints is not None:
        yield Path(checkpoints)
    else:
        with tempfile.TemporaryDirectory(prefix="parts-", dir=Path.cwd()) as directory:
            yield Path(directory)


class Done(NamedTuple):
    """Steps, as counted by a worker."""

    communication_s: float
    sent_bytes: int


class _Attempts:
    """Servers and workers that run, until a server dies."""

    def __init__(self, runner: asyncio.Runner, coordinator: "Coordinator", writer: Writer) -> None:
        self._runner, self._coordinator, self._writer = runner, coordinator, writer
        self._worker_deaths, self._server_deaths = Deaths(), Deaths()
        self._running: list[Volunteers] = []
        self._lost: CoterieError | None = None
        """What is said of a server that died."""
        self._kept = Moment()
        """Of the newest checkpoint of which all servers have written their parts."""

    def find(self, at: Moment) -> bool:
        """Start all at a moment; whether its checkpoint was found. Raises WorkersDied, or what servers raise."""
        self._kept = at
        found = self._insist(lambda: self._begin(at))
        if not found:
            self._kept = Moment()
        return found

    def train(self, epoch: int, course: Course) -> Epoch:
        """One epoch. Raises WorkersDied, CheckpointLost, or what members raise."""
        batches = self._coordinator.learner.batches(epoch)
        communication_s, sent_bytes = 0.0, 0
        for span in course.spans(epoch, len(batches)):
            reach = partial(self._reach, epoch, span.stop)
            done = self._insist(reach)
            communication_s += done.communication_s
            sent_bytes += done.sent_bytes
            course.samples += sum(len(batches[step]) for step in span)
        self._writer.wait()  # the previous checkpoint counts until its parts may be removed
        loss = self._insist(lambda: self._conclude(epoch, len(batches)))
        return Epoch(loss, communication_s, sent_bytes)

    def save(self, course: Course) -> bytes:
        """Have servers write their parts; at the end of an epoch, they have already."""
        if course.moment.steps:
            self._insist(lambda: self._conclude(*course.moment))
        return b""

    def _insist(self, act: Callable[[], T]) -> T:
        """Repeat `act` after the death of a server."""
        while True:
            try:
                return act()
            except WorkersDied as error:
                if error is not self._lost:
                    raise
                self.end()
                self._server_deaths.add(int(str(error.fields["worker"])), str(error.fields["output"]))

    def _reach(self, epoch: int, stop: int) -> Done:
        """Have all steps of `epoch` before `stop` done."""
        if not self._running and not self._begin(self._kept):
            raise CheckpointLost
        return self._runner.run(self._coordinator.train(epoch, stop))

    def _conclude(self, epoch: int, steps: int) -> float:
        if not self._running:
            self._reach(epoch, steps)
        whole = steps == len(self._coordinator.learner.batches(epoch))
        at = Moment(epoch + 1) if whole else Moment(epoch, steps)
        loss = self._runner.run(self._coordinator.conclude(at))
        self._kept = at
        self._worker_deaths.reset()
        self._server_deaths.reset()
        return loss

    def _begin(self, at: Moment) -> bool:
        coordinator, secret = self._coordinator, secrets.token_hex(16)
        port = self._runner.run(coordinator.open(secret))
        loop = self._runner.get_loop()

        def failed(error: CoterieError) -> None:
            loop.call_soon_threadsafe(coordinator.exchange.fail, error)

        def lost(error: CoterieError) -> None:
            self._lost = error
            failed(error)

        def members(numbers: Sequence[int], deaths: Deaths, fails: Callable[[CoterieError], None]) -> Volunteers:
            told = [WorkerArguments(coordinator.learner.arguments, n, port=port, secret=secret) for n in numbers]
            return Volunteers(told, deaths=deaths, failed=fails)

        self._lost = None
        self._running = [
            members(coordinator.servers, Deaths(most=1), lost),
            members(coordinator.workers, self._worker_deaths, failed),
        ]
        return self._runner.run(coordinator.begin(at))

    def end(self) -> None:
        """End all of them."""
        for volunteers in self._running:
            volunteers.stop()
        for volunteers in self._running:
            volunteers.end()
        if self._running:
            self._runner.run(self._coordinator.exchange.close())
        self._running = []


class Coordinator:
    """It has the whole model for evaluation; between two epochs its state is that of the servers."""

    exchange: Exchange

    def __init__(self, arguments: BootstrapArguments, strategy: ParameterServer, directory: Path) -> None:
        self.learner = Learner(arguments)
        self._strategy, self._directory = strategy, directory
        cloud, most = self.learner.cloud, numbers_in(strategy.piece_kib)
        self._layers = [[cloud.parameters[name] for name in names] for names in names_together(cloud, most)]
        self._statistics = Statistics(cloud)
        sizes = [[parameter.numel() for parameter in layer] for layer in self._layers]
        self._division = divide(sizes, most=most, servers=strategy.servers)
        self.workers = range(strategy.workers)
        self.servers = range(strategy.workers, strategy.workers + self._division.servers)
        self._number = 0
        """Of the newest question."""
        self._ports: list[int] = []

    async def open(self, secret: str) -> int:
        """Listen; returns the port."""
        numbers = sum(piece.size for piece in self._division.pieces) + self._statistics.size
        self.exchange = Exchange(self.servers.stop, secret=secret, most_bytes=largest(numbers))
        return await self.exchange.open()

    async def begin(self, at: Moment) -> bool:
        """Have servers load the model: as it was before any step, or from their parts of a checkpoint.

        Returns whether all of those were found. Raises WorkersDied, or what servers raise.
        """
        steps = len(self.learner.batches(at.epochs))
        words = {
            WHAT: BEGIN,
            EPOCH: str(at.epochs),
            STEP: str(at.steps),
            FIRST: str(at.epochs * steps + at.steps),
            SIZES: json.dumps(self._division.sizes),
            DIRECTORY: str(self._directory),
        }
        anew = at == Moment()
        questions = {
            member: (words, self._initial(number) if anew else NOTHING) for number, member in enumerate(self.servers)
        }
        answers = await self._ask(questions)
        self._ports = [int(answers[member].words[PORT]) for member in self.servers]
        return all(answer.words[FOUND] == "1" for answer in answers.values())

    async def train(self, epoch: int, stop: int) -> Done:
        """Have workers compute the missing steps of an epoch before step `stop`. Raises WorkersDied, or what they
        do.
        """
        begun = time.perf_counter()
        words = {WHAT: TRAIN, EPOCH: str(epoch), STEP: str(stop), PORTS: json.dumps(self._ports)}
        told = await self._ask(dict.fromkeys(self.workers, (words, NOTHING)))
        communicated = float(np.mean([float(answer.words[COMMUNICATION_S]) for answer in told.values()]))
        sent = max(int(answer.words[SENT_BYTES]) for answer in told.values())
        return Done(min(communicated, time.perf_counter() - begun), sent)

    async def conclude(self, at: Moment) -> float:
        """Have servers write their parts; after an epoch, load the model. Returns its loss then; within one, 0.

        Raises WorkersDied, or what servers raise.
        """
        words = {WHAT: CONCLUDE, EPOCH: str(at.epochs), STEP: str(at.steps)}
        kept = await self._ask(dict.fromkeys(self.servers, (words, NOTHING)))
        if at.steps:
            return 0.0
        for number, member in enumerate(self.servers):
            self._take(number, kept[member].tensors)
        return float(kept[self.servers[STATISTICS_SERVER]].words[LOSS])

    async def _ask(self, questions: Mapping[int, tuple[Mapping[str, str], Mapping[str, Array]]]) -> dict[int, Frame]:
        """The answer of each member; a member that restarted is asked again."""
        self._number += 1
        number = str(self._number)
        for member, (words, tensors) in questions.items():
            self.exchange.ask(member, pack({**words, NUMBER: number}, tensors))
        answers: dict[int, Frame] = {}
        while len(answers) < len(questions):
            reply = await self.exchange.reply()
            if reply.frame.words[NUMBER] == number:
                answers[reply.worker] = reply.frame
        return answers

    def _initial(self, server: int) -> Mapping[str, Array]:
        numbers = [self._numbers(number) for number in self._division.pieces_of(server)]
        mine: dict[str, Array] = {NUMBERS: np.concatenate([np.zeros(0, np.float32), *numbers])}
        if server == STATISTICS_SERVER:
            mine[STATISTICS] = self._statistics.gather().astype(np.float32)
        return mine

    def _numbers(self, number: int) -> Array:
        piece = self._division.pieces[number]
        flat = [array_of(parameter).reshape(-1) for parameter in self._layers[piece.layer]]
        found: Array = np.concatenate(flat)[piece.start : piece.stop]  # type: ignore[assignment]  # they are float32
        return found

    @torch.no_grad()
    def _take(self, server: int, tensors: Mapping[str, Array]) -> None:
        start = 0
        numbers = tensor_of(tensors[NUMBERS])
        for number in self._division.pieces_of(server):
            piece = self._division.pieces[number]
            layer, mine = self._layers[piece.layer], numbers[start : start + piece.size]
            start += piece.size
            if len(layer) == 1:
                layer[0].reshape(-1)[piece.start : piece.stop] = mine
            else:
                sizes = [parameter.numel() for parameter in layer]
                for parameter, part in zip(layer, torch.split(mine, sizes), strict=True):
                    parameter.copy_(part.reshape(parameter.shape))
        if STATISTICS in tensors:
            self._statistics.spread(np.array(tensors[STATISTICS]))
