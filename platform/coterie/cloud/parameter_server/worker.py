"""A worker: it computes gradients of its shares of batches, with the model that servers store."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from coterie.cloud.epochs import Rows
from coterie.cloud.exchange.frames import Frame, largest, pack
from coterie.cloud.exchange.server import SECRET, WORKER
from coterie.cloud.exchange.statistics import Statistics
from coterie.cloud.exchange.worker import answer_all
from coterie.cloud.learner import Learner, share_of
from coterie.cloud.meter import Meter
from coterie.cloud.parameter_server.at_once import AtOnce
from coterie.cloud.parameter_server.division import divide
from coterie.cloud.parameter_server.links import Links
from coterie.cloud.parameter_server.messages import COMMUNICATION_S, EPOCH, NUMBER, PORTS, SENT_BYTES, STEP
from coterie.cloud.parameter_server.pieces import Pieces, numbers_of
from coterie.cloud.priority.layers import layers_of
from coterie.cloud.priority.order import numbers_in
from coterie.cloud.priority.transfers import Transfers
from coterie.cloud.strategy.parameter_server import ParameterServer
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_learning.random import derive_seed
from coterie_wire.structs import from_json

ENDED_WITHIN_S = 60.0
"""The job's first process ends the workers of a server that has died within this time."""


def compute_gradients(arguments: WorkerArguments, strategy: ParameterServer) -> WorkerResult:
    """Compute until the job ends. Raises MalformedDataset, ConnectionError, or what `Learner` raises."""
    worker = Worker(arguments, strategy)
    hello = {SECRET: arguments.secret, WORKER: str(arguments.number)}

    async def answer(frame: Frame) -> bytes:
        return await asyncio.to_thread(worker.answer, frame)

    asyncio.run(answer_all(arguments.port, hello, answer, most_bytes=largest(0)))
    return WorkerResult()


class Transport(Protocol):
    """How gradients and parameters are communicated during a step."""

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Logits, with dropout."""
        ...

    def backward_is_done(self) -> None:
        """Called when all gradients of this step are computed."""
        ...

    def finish(self) -> None:
        """Wait until all parameters are back."""
        ...


class Worker:
    """Connects to the servers when an epoch is first requested, and resumes where it was before it died."""

    _pieces: Pieces
    _way: Transport

    def __init__(self, arguments: WorkerArguments, strategy: ParameterServer) -> None:
        self._arguments, self._strategy = arguments, strategy
        self._number = arguments.number
        self._learner = Learner(arguments.training, gpu=arguments.gpu)
        self._statistics = Statistics(self._learner.cloud)
        self._most = numbers_in(strategy.piece_kib)
        self._layers = layers_of(self._learner.cloud, self._most)
        sizes = [layer.sizes for layer in self._layers]
        self._division = divide(sizes, most=self._most, servers=strategy.servers)
        self._meter = Meter()
        self._next: int | None = None
        """The step that it computes next; None: it has not met the servers."""
        self._coming: Future[Frame] | None = None
        """The statistics that come back of the last step."""

    def answer(self, frame: Frame) -> bytes:
        """Compute gradients from the first step that it has not pushed up to a step of an epoch.

        The death of a server ends this process, which is then restarted with the others.
        """
        epoch, stop = int(frame.words[EPOCH]), int(frame.words[STEP])
        batches = self._learner.batches(epoch)
        first = epoch * len(batches)
        try:
            begin = (
                self._connect(from_json(frame.words[PORTS].encode(), list[int])) if self._next is None else self._next
            )
            for step in range(begin - first, stop):
                self._compute(epoch, step, first + step, batches[step])
            self._way.finish()
            self._take_statistics()
        except ConnectionError:
            time.sleep(ENDED_WITHIN_S)
            raise
        self._next = first + stop
        sent = 4 * (self._next - begin) * (sum(sum(layer.sizes) for layer in self._layers) + self._statistics.size)
        return pack(
            {
                NUMBER: frame.words[NUMBER],
                COMMUNICATION_S: repr(self._meter.read()),
                SENT_BYTES: str(sent),
            },
            {},
        )

    def _connect(self, ports: Sequence[int]) -> int:
        """Connect to the servers and load the model, before the step that this worker had begun when it died;
        returns that step.
        """
        hello = {SECRET: self._arguments.secret, WORKER: str(self._number)}
        links = Links(ports, hello, most_bytes=largest(max(self._most, self._statistics.size)))
        self._pieces = Pieces(self._division, links, self._meter)
        cloud = self._learner.cloud
        if self._strategy.transfers == "priority":
            self._way = Transfers(cloud, self._layers, self._pieces, most=self._most)
        else:
            self._way = AtOnce(cloud, self._layers, self._pieces, self._division.pieces)
        step = self._pieces.find_step()
        self._statistics.spread(self._pieces.pull(self._layers, step))
        return step

    def _compute(self, epoch: int, step: int, number: int, rows: Rows) -> None:
        """`number`: of the step since the beginning of training."""
        arguments = self._arguments.training
        self._take_statistics()
        share = share_of(rows, self._number, self._strategy.workers)
        self._pieces.step, self._pieces.counts = number, bool(len(share))
        # A share that is computed again has the same dropout.
        torch.manual_seed(derive_seed(arguments.seed, "share", epoch, step, self._number))
        # In steps of all workers together, a share has its weight; one by one, it counts as a whole batch.
        part = len(share) / len(rows) if self._strategy.updates == "synchronous" else float(len(share) > 0)
        loss = self._learner.backward(share if len(share) else rows[:1], factor=part, forward=self._way.forward)
        statistics = (part * self._statistics.gather()).astype(np.float32)
        self._coming = self._pieces.push_statistics(statistics, part * loss)
        self._way.backward_is_done()

    def _take_statistics(self) -> None:
        if self._coming is not None:
            self._statistics.spread(numbers_of(self._coming.result()))
            self._coming = None
