"""A worker's side: it answers the newest question, with coded gradients of its shares of a batch."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.child.job import ReportProgress
from coterie.cloud.epochs import Rows
from coterie.cloud.exchange.frames import Frame, largest, pack, read_frame
from coterie.cloud.exchange.server import LOOPBACK, SECRET, WORKER
from coterie.cloud.exchange.vector import Layout
from coterie.cloud.learner import Learner, share_of
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Array

NUMBER, EPOCH, STEP, FACTORS, EXACT = "number", "epoch", "step", "factors", "exact"
VECTOR, REMAINDER = "vector", "remainder"
IDLE, COMPUTE_S = "idle", "compute_s"
Answer = Callable[[Frame], Awaitable[bytes]]


def serve_gradients(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:  # noqa: ARG001 - as all members
    """Answer until the job ends. Raises MalformedDataset, ConnectionError, or what `Learner` raises."""
    shares = Shares(Learner(arguments.training, gpu=arguments.gpu), parse_strategy(arguments.training.strategy).count)
    hello = {SECRET: arguments.secret, WORKER: str(arguments.number)}

    async def answer(frame: Frame) -> bytes:
        return await asyncio.to_thread(shares.answer, frame)

    asyncio.run(answer_all(arguments.port, hello, answer, most_bytes=largest(shares.layout.size)))
    return WorkerResult()


async def answer_all(port: int, hello: Mapping[str, str], answer: Answer, *, most_bytes: int) -> None:
    """Answer the newest question received. Raises ConnectionError where the other side closes, or WireError."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(pack(hello, {}))
    newest: asyncio.Queue[Frame] = asyncio.Queue()

    async def listen() -> None:
        while True:
            frame = await read_frame(reader, most_bytes=most_bytes)
            while not newest.empty():
                newest.get_nowait()
            newest.put_nowait(frame)

    async def speak() -> None:
        while True:
            frame = await newest.get()
            writer.write(await answer(frame))
            await writer.drain()

    try:
        await asyncio.gather(listen(), speak())
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("the job's first process is gone") from error


class Shares:
    """Gradients of shares of batches, for the model that a question contains."""

    def __init__(self, learner: Learner, workers: int) -> None:
        self._learner, self._workers = learner, workers
        self.layout = Layout(learner.cloud)

    def answer(self, frame: Frame) -> bytes:
        """The sum of the shares' vectors, each times its factor and its part of the batch."""
        begun = time.perf_counter()
        words = frame.words
        rows = self._learner.batches(int(words[EPOCH]))[int(words[STEP])]
        total: NDArray[np.float64] = np.zeros(self.layout.size)
        idle: set[int] = set(self.layout.parameters)
        for share, factor in json.loads(words[FACTORS]):
            mine = share_of(rows, share, self._workers)
            if len(mine):
                self._seed(words, share)
                total += factor * (len(mine) / len(rows)) * self._vector(frame, mine)
                idle &= self.layout.idle()
        said = {NUMBER: words[NUMBER], IDLE: json.dumps(sorted(idle))}
        high = total.astype(np.float32)
        tensors: dict[str, Array] = {VECTOR: high}
        if words[EXACT] == "1":
            tensors[REMAINDER] = (total - high).astype(np.float32)
        return pack({**said, COMPUTE_S: repr(time.perf_counter() - begun)}, tensors)

    def _seed(self, words: Mapping[str, str], share: int) -> None:
        """Every worker that computes a share has the same dropout."""
        seed = self._learner.arguments.seed
        torch.manual_seed(derive_seed(seed, "share", int(words[EPOCH]), int(words[STEP]), share))

    def _vector(self, frame: Frame, rows: Rows) -> NDArray[np.float64]:
        self.layout.load(frame.tensors)
        self._learner.optimiser.zero_grad()
        loss = self._learner.backward(rows)
        return self.layout.gather(loss)
