"""Processes that train blocks."""

from io import BytesIO

import pytest

from coterie.simulation.errors import RunFailed, WorkerLost
from coterie.simulation.fleet.block import Block, Member
from coterie.simulation.fleet.workers import Processes, read_frame, write_frame

BLOCKS = [Block(at, [Member(at, 1, "version", 1, 1)], False, False) for at in range(3)]


@pytest.mark.parametrize(
    "program", ["pass", "import sys; sys.stdin.buffer.read(4)", "import os; os.kill(os.getpid(), 9)"]
)
def test_a_worker_that_ends_is_told(program: str) -> None:
    workers = Processes(2, ["-c", program])
    try:
        with pytest.raises(WorkerLost, match="--workers"):
            list(workers.train(BLOCKS))
    finally:
        workers.close()


RAISES = """
import sys
from coterie.simulation.fleet.worker import serve

class Odd:
    def train(self, block):
        raise KeyError("lost")

serve(Odd(), sys.stdin.buffer, sys.stdout.buffer)
"""


def test_what_a_worker_raises_is_told_with_its_place() -> None:
    workers = Processes(1, ["-c", RAISES])
    try:
        with pytest.raises(RunFailed, match=r"KeyError: 'lost' \(line 7 of .*, in train\)"):
            list(workers.train(BLOCKS))
    finally:
        workers.close()


def test_workers_that_have_ended_before_they_are_asked_are_closed() -> None:
    workers = Processes(2, ["-c", "pass"])
    for process in workers._processes:
        process.wait(30)
    with pytest.raises(WorkerLost, match="--workers"):
        list(workers.train(BLOCKS))
    workers.close()
    assert all(process.stdin is not None and process.stdin.closed for process in workers._processes)


def test_a_frame_comes_whole_or_not() -> None:
    stream = BytesIO()
    write_frame(stream, b"abc")
    content = stream.getvalue()
    assert read_frame(BytesIO(content)) == b"abc"
    assert [read_frame(BytesIO(content[:cut])) for cut in range(len(content))] == [None] * len(content)
