"""The job's first process: it has servers and workers begin, asks for epochs, and judges the model after each.

A worker that dies begins again by itself, and the others wait for it or go on, as updates are. When a server dies, what
it kept is gone: all begin again from the last checkpoint.
"""

import asyncio
import json
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.epoch_loop import Epoch, Kept, stored_epochs, train_epochs
from coterie.cloud.errors import CheckpointLost, WorkersDied
from coterie.cloud.exchange.frames import Frame, largest, pack
from coterie.cloud.exchange.server import Exchange
from coterie.cloud.exchange.statistics import Statistics
from coterie.cloud.gang import Deaths, Volunteers
from coterie.cloud.learner import Learner
from coterie.cloud.parameter_server.division import STATISTICS_SERVER, divide
from coterie.cloud.parameter_server.words import (
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
    TRAIN,
    WHAT,
)
from coterie.cloud.parts import forget_other_parts
from coterie.cloud.priority.layers import names_together
from coterie.cloud.priority.order import numbers_in
from coterie.cloud.strategy.parameter_server import ParameterServer
from coterie.cloud.worker_job import WorkerArguments
from coterie.core.errors import CoterieError
from coterie_wire.structs import from_values
from coterie_wire.tensors import Array

T = TypeVar("T")
NOTHING: Mapping[str, Array] = {}


def train_with_servers(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train from the last checkpoint on. Raises WorkersDied, CheckpointLost, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.strategy, ParameterServer)  # the kind whose work this is
    with asyncio.Runner() as runner, _parts(arguments.checkpoints) as directory:
        coordinator = Coordinator(arguments, strategy, directory)
        stored = stored_epochs(arguments.checkpoints)
        done = 0 if stored is None else stored.standing.epochs
        forget_other_parts(directory, done)
        attempts = _Attempts(runner, coordinator)
        try:
            if done and done < arguments.epochs and not attempts.find(done):
                stored = None
                attempts.end()
            kept = Kept(save=bytes, restore=lambda _state: None)  # what servers keep is what training goes on with
            return train_epochs(
                coordinator.learner, attempts.train, kept, report, stored=stored, workers=strategy.workers
            )
        finally:
            attempts.end()


@contextmanager
def _parts(checkpoints: str | None) -> Iterator[Path]:
    """Where servers write their parts; a job without checkpoints needs them for as long as it runs."""
    if checkpoints is not None:
        yield Path(checkpoints)
    else:
        with tempfile.TemporaryDirectory(prefix="parts-", dir=Path.cwd()) as directory:
            yield Path(directory)


class _Attempts:
    """Servers and workers that run, until a server dies."""

    def __init__(self, runner: asyncio.Runner, coordinator: "Coordinator") -> None:
        self._runner, self._coordinator = runner, coordinator
        self._worker_deaths, self._server_deaths = Deaths(), Deaths()
        self._running: list[Volunteers] = []
        self._lost: CoterieError | None = None
        """What is said of a server that died."""

    def find(self, epoch: int) -> bool:
        """Have all begin at an epoch; whether its checkpoint is there. Raises WorkersDied, or what servers raise."""
        return self._insist(lambda: self._begin(epoch))

    def train(self, epoch: int) -> Epoch:
        """Raises WorkersDied, CheckpointLost, or what members raise."""
        return self._insist(lambda: self._train(epoch))

    def _insist(self, act: Callable[[], T]) -> T:
        """Again where a server has died."""
        while True:
            try:
                return act()
            except WorkersDied as error:
                if error is not self._lost:
                    raise
                self.end()
                self._server_deaths.add(int(str(error.fields["worker"])), str(error.fields["output"]))

    def _train(self, epoch: int) -> Epoch:
        if not self._running and not self._begin(epoch):
            raise CheckpointLost
        found = self._runner.run(self._coordinator.train(epoch))
        self._worker_deaths.forget()
        self._server_deaths.forget()
        return found

    def _begin(self, epoch: int) -> bool:
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
        return self._runner.run(coordinator.begin(epoch))

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
    """It has the whole model, to judge it; between two epochs that is what the servers keep."""

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
        """Listen; gives the port."""
        numbers = sum(piece.size for piece in self._division.pieces) + self._statistics.size
        self.exchange = Exchange(self.servers.stop, secret=secret, most_bytes=largest(numbers))
        return await self.exchange.open()

    async def begin(self, epoch: int) -> bool:
        """Have servers keep the model: as it was before any epoch, or from their parts of `epoch`'s checkpoint.

        Gives whether all of those were found. Raises WorkersDied, or what servers raise.
        """
        steps = len(list(self.learner.batches(epoch)))
        words = {
            WHAT: BEGIN,
            EPOCH: str(epoch),
            FIRST: str(epoch * steps),
            SIZES: json.dumps(self._division.sizes),
            DIRECTORY: str(self._directory),
        }
        questions = {
            member: (words, NOTHING if epoch else self._initial(number)) for number, member in enumerate(self.servers)
        }
        answers = await self._ask(questions)
        self._ports = [int(answers[member].words[PORT]) for member in self.servers]
        return all(answer.words[FOUND] == "1" for answer in answers.values())

    async def train(self, epoch: int) -> Epoch:
        """Have workers compute an epoch, and servers write their parts. Raises WorkersDied, or what members raise."""
        begun = time.perf_counter()
        words = {WHAT: TRAIN, EPOCH: str(epoch), PORTS: json.dumps(self._ports)}
        told = await self._ask(dict.fromkeys(self.workers, (words, NOTHING)))
        seconds = time.perf_counter() - begun
        kept = await self._ask({member: ({WHAT: CONCLUDE, EPOCH: str(epoch)}, NOTHING) for member in self.servers})
        for number, member in enumerate(self.servers):
            self._take(number, kept[member].tensors)
        loss = float(kept[self.servers[STATISTICS_SERVER]].words[LOSS])
        communicated = float(np.mean([float(answer.words[COMMUNICATION_S]) for answer in told.values()]))
        sent = max(int(answer.words[SENT_BYTES]) for answer in told.values())
        return Epoch(loss, min(communicated, seconds), sent)

    async def _ask(self, questions: Mapping[int, tuple[Mapping[str, str], Mapping[str, Array]]]) -> dict[int, Frame]:
        """The answer of each member; one that was started anew is asked again."""
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
        flat = [parameter.detach().numpy().reshape(-1) for parameter in self._layers[piece.layer]]
        found: Array = np.concatenate(flat)[piece.start : piece.stop]
        return found

    @torch.no_grad()
    def _take(self, server: int, tensors: Mapping[str, Array]) -> None:
        start = 0
        numbers = torch.from_numpy(np.array(tensors[NUMBERS]))
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
