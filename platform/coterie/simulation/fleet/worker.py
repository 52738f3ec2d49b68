"""A worker process: ``python -m coterie.simulation.fleet.worker DIRECTORY``; see `coterie.simulation.fleet.workers`."""

import signal
import sys
import traceback
from pathlib import Path
from typing import IO

import msgspec

from coterie.simulation.fleet.block import Answer, Block
from coterie.simulation.fleet.files import open_work
from coterie.simulation.fleet.workers import Trains, read_frame, write_frame
from coterie_wire.structs import from_msgpack


def main(directory: str) -> None:
    """Train until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which ends its workers
    serve(open_work(Path(directory)), sys.stdin.buffer, sys.stdout.buffer)


def serve(work: Trains, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Train the blocks of `requests` until it ends; errors are returned, and written to standard error."""
    while (frame := read_frame(requests)) is not None:
        try:
            answer = Answer(work.train(from_msgpack(frame, Block)))
        except Exception as error:  # noqa: BLE001 - a kind of the user's own may raise anything
            traceback.print_exc()
            answer = Answer(None, _description(error))
        write_frame(answers, msgspec.msgpack.encode(answer))


def _description(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} (line {place.lineno} of {place.filename}, in {place.name})"


if __name__ == "__main__":
    main(sys.argv[1])
