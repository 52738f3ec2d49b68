"""A checkpoint whose parts are in several files: each worker writes its own, and any number of workers read it.

A part is a tensor file. Files follow one another in the order of workers; concatenated along the first axis, their
pieces of a tensor are the whole of it. Tensors without axes are the same in all files that have them.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.cloud.checkpoints import replace_file
from coterie.cloud.epochs import Moment
from coterie_wire.tensors import Array, decode_tensors, read_header


class RowSpan(NamedTuple):
    """Rows of a tensor, from `start` to before `stop`."""

    start: int
    stop: int


def share_of_rows(rows: int, worker: int, workers: int) -> RowSpan:
    """The rows that one worker stores, as `torch.chunk` divides them; possibly none."""
    size = -(-rows // workers)
    return RowSpan(min(rows, worker * size), min(rows, (worker + 1) * size))


def part_paths(directory: Path, at: Moment) -> list[Path]:
    """The parts written at a moment, in the order of workers; empty where one is missing."""
    found = sorted(directory.glob(f"part-*-of-*.{at}"), key=_place)
    return found if found and [_place(path) for path in found] == [(n, len(found)) for n in range(len(found))] else []


def part_path(directory: Path, worker: int, workers: int, at: Moment) -> Path:
    """Where a worker, or a server, writes its part."""
    return directory / f"part-{worker}-of-{workers}.{at}"


def delete_other_parts(directory: Path, at: Moment) -> None:
    """Remove the parts of attempts that went beyond the current checkpoint, and of older ones."""
    for path in directory.glob("part-*"):
        if path.suffix != f".{at}":
            path.unlink(missing_ok=True)


class OwnParts:
    """The parts of one worker, or server, of which it keeps the last two.

    The valid checkpoint is the last one of which all parts are written, or, while that is being written, the one
    before.
    """

    def __init__(self, directory: Path, worker: int, workers: int, begin: Moment) -> None:
        """`begin`: the moment of the checkpoint from which the training resumes."""
        self._directory, self._worker, self._workers = directory, worker, workers
        self._kept = [self.path(begin)]

    def path(self, at: Moment) -> Path:
        """Path of its part at a moment."""
        return part_path(self._directory, self._worker, self._workers, at)

    def write(self, at: Moment, content: bytes) -> None:
        """Write a part durably."""
        replace_file(self.path(at), content)

    def delete_older(self, at: Moment) -> None:
        """Remove older parts: all parts of `at` are written, and the checkpoint is valid."""
        self._kept = [path for path in self._kept if path != self.path(at)] + [self.path(at)]
        while len(self._kept) > 2:
            self._kept.pop(0).unlink(missing_ok=True)


def join_parts(files: Iterable[bytes], wanted: Callable[[str], RowSpan | None]) -> dict[str, Array]:
    """The requested rows of each tensor, by name; None: not requested. One file is in memory at a time.

    Raises WireError where a file is malformed.
    """
    begun = dict[str, int]()
    found = dict[str, list[Array]]()
    for content in files:
        for name, array in _tensors(content):
            span = wanted(name)
            if span is None:
                continue
            if array.ndim == 0:
                found.setdefault(name, [array.copy()])
                continue
            first = begun.get(name, 0)
            begun[name] = first + len(array)
            here = array[max(0, span.start - first) : max(0, span.stop - first)]
            found.setdefault(name, []).append(here.copy())
    return {name: pieces[0] if pieces[0].ndim == 0 else _joined(pieces) for name, pieces in found.items()}


def _joined(pieces: list[Array]) -> Array:
    whole: Array = np.concatenate(pieces)  # type: ignore[assignment]  # they are of one dtype
    return whole


def _tensors(content: bytes) -> Iterator[tuple[str, Array]]:
    yield from decode_tensors(content, expected=tuple(read_header(content).specs.values())).items()


def _place(path: Path) -> tuple[int, int]:
    _, worker, _, workers = path.stem.split("-")
    return int(worker), int(workers)
