"""A worker process: ``python -m coterie.simulation.fleet.worker DIRECTORY``; see `coterie.simulation.fleet.workers`."""

import signal
import sys
from pathlib import Path

import msgspec

from coterie.simulation.fleet.block import Block
from coterie.simulation.fleet.files import open_work
from coterie.simulation.fleet.workers import read_frame, write_frame
from coterie_wire.structs import from_msgpack


def main(directory: str) -> None:
    """Train until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asked, who ends its workers
    work = open_work(Path(directory))
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        answer = work.train(from_msgpack(frame, Block))
        write_frame(sys.stdout.buffer, msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main(sys.argv[1])
