"""Workers: processes that train blocks, each with one thread; or none, and the caller trains.

A worker reads frames from its standard input and answers on its standard output: 4 bytes of length, little-endian, and
MessagePack. Its argument is the directory of the simulation's files.
"""

import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Protocol, Self

import msgspec

from coterie.simulation.errors import RunFailed, WorkerLost
from coterie.simulation.fleet.block import Answer, Block, TrainedBlock
from coterie_wire.structs import from_msgpack

_LENGTH = struct.Struct("<I")


class Trains(Protocol):
    """Trains one block."""

    def train(self, block: Block) -> TrainedBlock:
        """Train the block; deterministic."""


class Workers(Protocol):
    """Train blocks."""

    def train(self, blocks: Sequence[Block]) -> Iterator[TrainedBlock]:
        """The answers, in any order."""

    def close(self) -> None:
        """End: there are no more blocks."""


class Inline:
    """Trains in the calling process."""

    def __init__(self, work: Trains) -> None:
        self._work = work

    def train(self, blocks: Sequence[Block]) -> Iterator[TrainedBlock]:
        return map(self._work.train, blocks)

    def close(self) -> None:
        pass


class Processes:
    """Worker processes; a thread for each hands it one block after the other."""

    def __init__(self, count: int, arguments: Sequence[str]) -> None:
        """`arguments` are those of the command that a worker is."""
        self._processes = [
            subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(count)
        ]

    @classmethod
    def beginning(cls, count: int, directory: str) -> Self:
        """Workers for the simulation whose files are in `directory`."""
        return cls(count, ["-m", "coterie.simulation.fleet.worker", directory])

    def train(self, blocks: Sequence[Block]) -> Iterator[TrainedBlock]:
        """Raises WorkerLost, or RunFailed for what a worker raises."""
        waiting: SimpleQueue[Block] = SimpleQueue()
        answers: SimpleQueue[TrainedBlock | Exception] = SimpleQueue()
        for block in blocks:
            waiting.put(block)
        for process in self._processes:
            Thread(target=_serve, args=(process, waiting, answers), daemon=True).start()
        for _ in blocks:
            answer = answers.get()
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):  # a block that it did not read before it died
                        stream.close()


def _serve(
    process: "subprocess.Popen[bytes]", waiting: "SimpleQueue[Block]", answers: "SimpleQueue[TrainedBlock | Exception]"
) -> None:
    assert process.stdin is not None and process.stdout is not None
    while not waiting.empty():
        try:
            block = waiting.get_nowait()
        except Empty:  # another worker was faster
            return
        try:
            write_frame(process.stdin, msgspec.msgpack.encode(block))
            frame = read_frame(process.stdout)
        except OSError:
            frame = None
        if frame is None:
            answers.put(WorkerLost(status=str(process.wait())))
            return
        answer = from_msgpack(frame, Answer)
        answers.put(RunFailed(detail=answer.failure) if answer.block is None else answer.block)


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Raises OSError."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """None at the end. Raises OSError."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None
