"""Models are run for devices in children, a few at a time; requests beyond the queue's limit are refused."""

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from coterie.child.errors import Crashed, DiskFull, OutOfMemory, OutOfTime
from coterie.child.run import run_child
from coterie.cloud_answers.errors import Busy, Failed, TooLate
from coterie.cloud_answers.selectors import AnsweringModel
from coterie.core.errors import CoterieError
from coterie.core.metrics import CLOUD_ANSWER_SECONDS, CLOUD_ANSWERS
from coterie.core.scratch import scratch_directory
from coterie.evaluation.answer_job import JOB, LIMITS, AnswerArguments
from coterie.registry.content import BLOBS
from coterie_wire.fallback import PlatformAnswer

logger = logging.getLogger(__name__)
AT_ONCE = 2
"""Children of this process."""
WAITING = 8
"""How many more requests may wait."""
WAIT_S = 2
"""Seconds after which a refused request may be repeated."""


@dataclass(frozen=True)
class PredictionTask:
    """Checked samples, and the model to run on them."""

    model: AnsweringModel
    samples: tuple[bytes, ...]


class Answerers:
    """The threads that wait for children."""

    def __init__(self, *, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="answers")
        self._most = at_once + waiting
        self._lock = threading.Lock()
        self._under_way = 0

    def ask(self, question: PredictionTask, *, remaining_s: float) -> "Future[PlatformAnswer]":
        """The answer, within `remaining_s`. Raises Busy or TooLate."""
        began = time.monotonic()
        with self._lock:
            if self._under_way >= self._most:
                CLOUD_ANSWERS.labels("busy").inc()
                raise Busy(waiting=self._under_way, wait_s=WAIT_S)
            self._under_way += 1
        future = self._pool.submit(_answer, question, began, remaining_s)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _future: "Future[PlatformAnswer]") -> None:
        with self._lock:
            self._under_way -= 1


def _answer(question: PredictionTask, began: float, remaining_s: float) -> PlatformAnswer:
    try:
        answer = _run(question, began + remaining_s - time.monotonic())
    except CoterieError:
        CLOUD_ANSWERS.labels("failed").inc()
        raise
    CLOUD_ANSWERS.labels(answer.model).inc()
    CLOUD_ANSWER_SECONDS.observe(time.monotonic() - began)
    return answer


def _run(question: PredictionTask, remaining_s: float) -> PlatformAnswer:
    """Raises TooLate, Failed or AnswerNotFinite."""
    if remaining_s <= 0:
        raise TooLate
    model = question.model
    try:
        with scratch_directory("answer") as directory:
            arguments = AnswerArguments(
                model=model.spec,
                labels=model.labels,
                graph=str(BLOBS.local_path(model.graph, directory)),
                parameters=str(BLOBS.local_path(model.parameters, directory)),
                samples=question.samples,
                frozen=None if model.frozen is None else str(BLOBS.local_path(model.frozen, directory)),
            )
            limits = replace(LIMITS, wall_s=min(LIMITS.wall_s, remaining_s))
            found = run_child(JOB, arguments, limits=limits)
    except OutOfTime as error:
        raise TooLate from error
    except (Crashed, DiskFull, OutOfMemory, FileNotFoundError) as error:
        logger.error("version %s could not answer a device: %s", model.version, error)
        raise Failed from error
    return PlatformAnswer(model.version, model.model, found.predictions)


ANSWERERS = Answerers()
