"""Strategy `coded` in the job's first process: it keeps the model, and workers send gradients."""

import asyncio
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch, stored_epochs, train_epochs
from coterie.cloud.exchange.frames import Frame, largest, pack
from coterie.cloud.exchange.server import Exchange, Reply
from coterie.cloud.exchange.vector import Layout
from coterie.cloud.exchange.worker import COMPUTE_S, EPOCH, EXACT, FACTORS, IDLE, NUMBER, REMAINDER, STEP, VECTOR
from coterie.cloud.gang import Deaths, Volunteers
from coterie.cloud.gradient_code import GradientCode
from coterie.cloud.learner import Learner
from coterie.cloud.saved_epochs import SavedState
from coterie.cloud.strategy.coded import Coded
from coterie.cloud.training_state import restore_training, save_training
from coterie.cloud.worker_job import WorkerArguments
from coterie.cloud.writer import Writer
from coterie.core.errors import CoterieError
from coterie_wire.structs import from_values


def train_synchronously(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Each step needs as many replies as the code requires. Raises WorkersDied, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.strategy, Coded)  # the kind that this function is the work of
    with asyncio.Runner() as runner:
        return _trained(runner, Master(arguments, strategy.gradient_code(arguments.seed)), report)


def _trained(runner: asyncio.Runner, master: "Master", report: ReportProgress) -> BootstrapResult:
    learner, deaths = master.learner, Deaths()

    def save(course: Course) -> bytes:
        return save_training(learner.cloud, learner.optimiser, course.remembered())

    def restore(saved: bytes) -> Mapping[str, Tensor]:
        return restore_training(learner.cloud, learner.optimiser, saved)

    def train(epoch: int, course: Course) -> Epoch:
        found = runner.run(master.synchronous_epoch(epoch, course))
        deaths.reset()
        return found

    stored = stored_epochs(learner.arguments.checkpoints)
    with _volunteers(runner, master, deaths), Writer() as writer:
        return train_epochs(
            learner, train, SavedState(save, restore), report, writer, stored=stored, workers=master.workers
        )


@contextmanager
def _volunteers(runner: asyncio.Runner, master: "Master", deaths: Deaths) -> Iterator[None]:
    secret = secrets.token_hex(16)
    port = runner.run(master.open(secret))
    loop = runner.get_loop()

    def failed(error: CoterieError) -> None:
        loop.call_soon_threadsafe(master.exchange.fail, error)

    workers = [
        WorkerArguments(master.learner.arguments, number, port=port, secret=secret) for number in range(master.workers)
    ]
    volunteers = Volunteers(workers, deaths=deaths, failed=failed)
    try:
        yield
    finally:
        volunteers.end()
        runner.run(master.exchange.close())


class Master:
    """The model, its optimiser, and the exchange with the workers."""

    exchange: Exchange

    def __init__(self, arguments: BootstrapArguments, code: GradientCode) -> None:
        self.learner, self._code = Learner(arguments), code
        self.workers = len(code.matrix)
        self._layout = Layout(self.learner.cloud)
        self._reply_bytes = self._layout.size * (4 if code.is_whole else 8)
        self._number = 0
        """Of the newest question."""

    async def open(self, secret: str) -> int:
        """Listen; returns the port."""
        self.exchange = Exchange(self.workers, secret=secret, most_bytes=largest(2 * self._layout.size))
        return await self.exchange.open()

    async def synchronous_epoch(self, epoch: int, course: Course) -> Epoch:
        """Each step waits until the code can decode its gradient; later replies are dropped."""
        taken, waited = 0, 0.0
        for step, _ in course.steps(epoch):
            begun = time.perf_counter()
            self._number += 1
            for worker in range(self.workers):
                self._ask(worker, self._number, epoch, step, self._code.shares_of(worker))
            replies: dict[int, Frame] = {}
            while (factors := self._code.decode(replies)) is None:
                reply = await self.exchange.reply()
                if _number(reply) == self._number:
                    replies[reply.worker] = reply.frame
            # In the order of workers, so that the sum does not depend on who was first.
            total = sum(
                (factors[worker] * _vector(replies[worker]) for worker in sorted(factors)), np.zeros(self._layout.size)
            )
            idle = set.intersection(*(_idle(replies[worker]) for worker in factors))
            waited += time.perf_counter() - begun - max(_compute_s(replies[worker]) for worker in factors)
            course.losses.append(self._layout.spread(total, idle))
            self.learner.optimiser.step()
            taken += 1
        return Epoch(float(np.mean(course.losses)), max(0.0, waited), taken * self._reply_bytes)

    def _ask(self, worker: int, number: int, epoch: int, step: int, factors: list[tuple[int, float]]) -> None:
        words = {
            NUMBER: str(number),
            EPOCH: str(epoch),
            STEP: str(step),
            FACTORS: json.dumps(factors),
            EXACT: "0" if self._code.is_whole else "1",
        }
        self.exchange.ask(worker, pack(words, self._layout.state()))


def _number(reply: Reply) -> int:
    return int(reply.frame.words[NUMBER])


def _vector(frame: Frame) -> NDArray[np.float64]:
    vector = frame.tensors[VECTOR].astype(np.float64)
    return vector + frame.tensors[REMAINDER] if REMAINDER in frame.tensors else vector


def _idle(frame: Frame) -> set[int]:
    return set(json.loads(frame.words[IDLE]))


def _compute_s(frame: Frame) -> float:
    return float(frame.words[COMPUTE_S])
