"""A program that asks ``coterie-agent serve``, in a process of its own: it waits for no other caller's interpreter.

``python -m tests.benchmarks.processes.caller`` reads what it is to do, a line of JSON (`Task`), says ``ready``, reads
when to begin (by `time.monotonic`, which all processes of a machine share), and prints what came of it as JSON.
"""

import sys
import time
from pathlib import Path

import msgspec

from coterie_agent.client import Predictions
from coterie_agent.errors import AgentError

READY = "ready"


class Saturating(msgspec.Struct, frozen=True, tag=True):
    """Ask again as soon as there is an answer. What comes of it: requests that were answered."""

    home: str
    sample: list[float]
    for_s: float


class Evenly(msgspec.Struct, frozen=True, tag=True):
    """Ask every `step_s` seconds, at first after `offset_s`.

    What comes of it: delays in seconds from when each request was due, so that one that waits for its turn counts as
    slow. Where the one before was answered in time, a request is due when the program wakes: how late that is, is not
    the service's doing. Without a `home` nothing is asked, and it is all that is measured.
    """

    home: str | None
    sample: list[float]
    offset_s: float
    step_s: float
    for_s: float


class Counting(msgspec.Struct, frozen=True, tag=True):
    """Ask so often within a deadline. What comes of it: `Counted`."""

    home: str
    sample: list[float]
    requests: int
    deadline_ms: float


class Counted(msgspec.Struct, frozen=True):
    """What came of `Counting`."""

    failed: int
    """Requests that ended in an error other than that the model was late."""
    kept: int
    """Answered by the model within the deadline, as this program sees it."""


Task = Saturating | Evenly | Counting


def saturate(model: Predictions, task: Saturating, begins: float) -> int:
    answered = 0
    while time.monotonic() < begins + task.for_s:
        model.predict([task.sample])
        answered += 1
    return answered


def ask_evenly(model: Predictions, task: Evenly, begins: float) -> list[float]:
    delays = []
    due = begins + task.offset_s
    while due < begins + task.for_s:
        counted_from, early_s = due, due - time.monotonic()
        if early_s > 0:
            time.sleep(early_s)
            counted_from = due if task.home is None else time.monotonic()
        if task.home is not None:
            model.predict([task.sample])
        delays.append(time.monotonic() - counted_from)
        due += task.step_s
    return delays


def count(model: Predictions, task: Counting) -> Counted:
    failed = kept = 0
    for _ in range(task.requests):
        asked = time.monotonic()
        try:
            answer = model.predict([task.sample], deadline_ms=task.deadline_ms)
            in_time = time.monotonic() - asked <= task.deadline_ms / 1000
            kept += in_time and answer.fallback is None
        except AgentError as error:
            failed += error.code != "serve.late"
    return Counted(failed, kept)


def main() -> None:
    task = msgspec.json.decode(sys.stdin.readline(), type=Task)  # type: ignore[arg-type]  # a union of types is one
    with Predictions(Path(task.home or "nowhere")) as model:
        if task.home is not None:
            model.predict([task.sample])  # the connection is there, and the code has run once
        print(READY, flush=True)
        begins = float(sys.stdin.readline())
        time.sleep(max(0.0, begins - time.monotonic()))
        match task:
            case Saturating():
                found: int | list[float] | Counted = saturate(model, task, begins)
            case Evenly():
                found = ask_evenly(model, task, begins)
            case Counting():
                found = count(model, task)
    print(msgspec.json.encode(found).decode(), flush=True)


if __name__ == "__main__":
    main()
