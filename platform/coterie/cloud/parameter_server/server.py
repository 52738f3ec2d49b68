"""A server in its own process: it answers workers on a port of the loopback interface, and writes its checkpoints.

Its part of a checkpoint is one tensor file: the numbers of its pieces one after the other, their moments and steps.
"""

import asyncio
import hmac
import json
import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.checkpoints import read_file
from coterie.cloud.epochs import Moment
from coterie.cloud.exchange.frames import Frame, largest, pack, read_frame
from coterie.cloud.exchange.server import HELLO_BYTES, LOOPBACK, SECRET, WORKER
from coterie.cloud.exchange.worker import answer_all
from coterie.cloud.parameter_server.division import STATISTICS_SERVER, Division, divide
from coterie.cloud.parameter_server.held import Averages, Held, Pushed, Weights
from coterie.cloud.parameter_server.messages import (
    BEGIN,
    DIRECTORY,
    EPOCH,
    FIRST,
    FOUND,
    IDLE,
    KEY,
    LOSS,
    LOSSES,
    NUMBER,
    NUMBERS,
    PIECE,
    PORT,
    PULL,
    SIZES,
    STATISTICS,
    STEP,
    WHAT,
    WHERE,
)
from coterie.cloud.parameter_server.shard import OneByOne, Shard, Synchronous
from coterie.cloud.parts import OwnParts
from coterie.cloud.priority.order import numbers_in
from coterie.cloud.strategy.parameter_server import ParameterServer
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_wire.errors import WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Array, decode_tensors, encode_tensors, read_header

logger = logging.getLogger(__name__)

MOST_NUMBERS = 1 << 40
"""A limit for the first process, which says how large the model is."""


def keep_shard(arguments: WorkerArguments, strategy: ParameterServer) -> WorkerResult:
    """Serve until the job ends. Raises ConnectionError where its first process does."""
    server = Server(arguments, strategy)
    hello = {SECRET: arguments.secret, WORKER: str(arguments.number)}
    asyncio.run(answer_all(arguments.port, hello, server.answer, most_bytes=largest(MOST_NUMBERS)))
    return WorkerResult()


class Server:
    """Answers workers only after the first process has assigned its pieces."""

    _division: Division
    _shard: Shard
    _port: int
    _parts: OwnParts

    def __init__(self, arguments: WorkerArguments, strategy: ParameterServer) -> None:
        self._arguments, self._strategy = arguments, strategy
        self._number = arguments.number - strategy.workers
        self._weights: dict[int, Weights] = {}
        self._averages: Averages | None = None
        self._here: dict[int, StreamWriter] = {}
        self._keys: dict[tuple[int, int], str] = {}
        """Of the newest question of each worker for each piece."""
        self._listener: asyncio.Server | None = None

    async def answer(self, frame: Frame) -> bytes:
        """Handle a request of the first process: to begin at a moment, or to write its part of a checkpoint.

        After an epoch the answer contains all numbers of its pieces, too.
        """
        words = frame.words
        said = {NUMBER: words[NUMBER]}
        at = Moment(int(words[EPOCH]), int(words[STEP]))
        if words[WHAT] == BEGIN:
            found = self._begin(at, words, frame.tensors)
            if self._listener is None:
                self._listener = await asyncio.start_server(self._serve, LOOPBACK, 0)
                self._port = self._listener.sockets[0].getsockname()[1]
            return pack({**said, PORT: str(self._port), FOUND: str(int(found))}, {})
        self._parts.write(at, self._saved(at))
        self._parts.delete_older(at)
        if at.steps:
            return pack(said, {})
        loss = 0.0 if self._averages is None else self._averages.read_loss()
        return pack({**said, LOSS: repr(loss)}, self._numbers())

    def _begin(self, at: Moment, words: Mapping[str, str], tensors: Mapping[str, Array]) -> bool:
        """Load the numbers in the request, else its part of a checkpoint; returns whether there are any."""
        sizes = from_json(words[SIZES].encode(), tuple[tuple[int, ...], ...])
        most, strategy = numbers_in(self._strategy.piece_kib), self._strategy
        self._division = divide(sizes, most=most, servers=strategy.servers)
        self._parts = OwnParts(Path(words[DIRECTORY]), self._number, self._division.servers, at)
        saved = {name: tensor_of(array) for name, array in tensors.items()}
        if not saved:
            content = read_file(self._parts.path(at))
            if content is None:
                return False
            stored = decode_tensors(content, expected=tuple(read_header(content).specs.values()))
            saved = {name: tensor_of(array) for name, array in stored.items()}
        self._keep(saved)
        rule = Synchronous() if strategy.updates == "synchronous" else OneByOne(strategy.bound)
        held: dict[int, Held] = dict(self._weights)
        if self._averages is not None:
            held[self._division.statistics] = self._averages
        self._shard = Shard(held, workers=strategy.workers, rule=rule, first=int(words[FIRST]))
        return True

    def _keep(self, saved: Mapping[str, Tensor]) -> None:
        division = self._division
        pieces = division.pieces_of(self._number)
        parts = {number: division.parts_of(number) for number in pieces}
        numbers = torch.split(saved[NUMBERS], [division.pieces[number].size for number in pieces])
        rate = self._arguments.training.learning_rate
        self._weights = {
            number: Weights(mine, parts[number], learning_rate=rate)
            for number, mine in zip(pieces, numbers, strict=True)
        }
        self._averages = Averages(saved[STATISTICS]) if self._number == STATISTICS_SERVER else None
        if self._averages is not None and LOSSES in saved:
            self._averages.restore(saved[LOSSES])
        moments = {
            name: iter(
                torch.split(
                    tensor,
                    [len(parts[number]) if name == "step" else division.pieces[number].size for number in pieces],
                )
            )
            for name, tensor in saved.items()
            if name not in (NUMBERS, STATISTICS, LOSSES)
        }
        if moments:
            for weights in self._weights.values():
                weights.restore({name: next(of) for name, of in moments.items()})

    def _saved(self, at: Moment) -> bytes:
        tensors: dict[str, list[Tensor]] = {}
        for weights in self._weights.values():
            for name, tensor in weights.save():
                tensors.setdefault(name, []).append(tensor)
        together = {name: array_of(torch.cat(of)) for name, of in tensors.items()}
        if self._averages is not None and at.steps:
            together[LOSSES] = array_of(self._averages.save())
        return encode_tensors(together | self._statistics())

    def _numbers(self) -> dict[str, Array]:
        """All its numbers, in the model's form."""
        numbers = [weights.numbers for weights in self._weights.values()]
        return {NUMBERS: array_of(torch.cat([torch.zeros(0), *numbers]))} | self._statistics()

    def _statistics(self) -> dict[str, Array]:
        return {} if self._averages is None else {STATISTICS: array_of(self._averages.numbers)}

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            worker = self._greeted(await read_frame(reader, most_bytes=HELLO_BYTES))
            if (former := self._here.get(worker)) is not None:
                former.close()
            self._here[worker] = writer
            most = largest(max((piece.size for piece in self._division.pieces), default=0) + self._statistics_size())
            while True:
                self._do(worker, writer, await read_frame(reader, most_bytes=most))
                await writer.drain()
        except (WireError, OSError, asyncio.IncompleteReadError) as error:
            logger.info("a worker is gone: %s", error)
        finally:
            writer.close()

    def _greeted(self, hello: Frame) -> int:
        number = hello.words.get(WORKER, "")
        known = number.isdecimal() and int(number) < self._strategy.workers
        secret = hello.words.get(SECRET, "").encode()
        if not known or not hmac.compare_digest(secret, self._arguments.secret.encode()):
            raise WireError("wire.malformed", "a stranger")
        return int(number)

    def _do(self, worker: int, writer: StreamWriter, frame: Frame) -> None:
        words = frame.words
        if words[WHAT] == WHERE:
            writer.write(pack({KEY: words[KEY], STEP: str(self._shard.step_of(worker))}, {}))
            return
        piece, step = int(words[PIECE]), int(words[STEP])
        if words[WHAT] == PULL:
            numbers = self._shard.numbers_at(piece, step)
            writer.write(pack({KEY: words[KEY]}, {NUMBERS: array_of(numbers)}))
            return
        self._keys[worker, piece] = words[KEY]
        for due in self._shard.push(worker, piece, step, _pushed(frame)):
            answer = pack({KEY: self._keys[due, piece]}, {NUMBERS: array_of(self._shard.numbers(piece))})
            self._here[due].write(answer)

    def _statistics_size(self) -> int:
        return 0 if self._averages is None else len(self._averages.numbers)


def _pushed(frame: Frame) -> Pushed | None:
    """The push; None where a worker had no samples."""
    if NUMBERS not in frame.tensors:
        return None
    numbers: np.ndarray[tuple[int], np.dtype[np.float32]] = frame.tensors[NUMBERS].astype(np.float32)
    return Pushed(numbers, frozenset(json.loads(frame.words[IDLE])), float(frame.words[LOSS]))
