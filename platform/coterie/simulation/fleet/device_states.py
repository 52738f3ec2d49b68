"""What devices remember: a file that grows at its end, and sixteen bytes of memory for each device of the fleet.

What is replaced stays in the file until that holds twice what counts; then it is written anew. So a moment that was
noted can be gone back to.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import numpy as np

from coterie.simulation.errors import DamagedSimulation
from coterie.simulation.fleet.splits import Int64
from coterie_wire.structs import from_msgpack

SPARE_BYTES = 64 << 20
"""Of what was replaced, that a file may hold whatever else it holds."""


class Moment(NamedTuple):
    """What devices remembered once."""

    file: int
    size_bytes: int
    starts: Int64
    """[devices]: where in the file each one's begins."""
    lengths: Int64
    """[devices]: of how many bytes it is; 0: it remembers nothing."""


class DeviceStates:
    """Those of one simulation, in its directory."""

    def __init__(self, directory: Path, moment: Moment, flags: int) -> None:
        self._directory, self._number, self._size = directory, moment.file, moment.size_bytes
        self._starts, self._lengths = moment.starts.copy(), moment.lengths.copy()
        self._counting = int(self._lengths.sum())
        self._file = os.open(self._path(self._number), os.O_RDWR | flags)

    @classmethod
    def nothing(cls, directory: Path, *, devices: int) -> Self:
        """Nobody remembers anything."""
        moment = Moment(0, 0, np.zeros(devices, np.int64), np.zeros(devices, np.int64))
        return cls(directory, moment, os.O_CREAT | os.O_TRUNC)

    @classmethod
    def at(cls, directory: Path, moment: Moment) -> Self:
        """As they were then. Raises DamagedSimulation where the file has not as much any more."""
        try:
            found = cls(directory, moment, 0)
        except OSError as error:
            raise DamagedSimulation(path=str(directory), detail=str(error)) from error
        if os.fstat(found._file).st_size < moment.size_bytes:
            found.close()
            raise DamagedSimulation(path=str(directory), detail="what devices remember is not there any more")
        os.ftruncate(found._file, moment.size_bytes)
        return found

    def note(self) -> Moment:
        """The moment that is now, once it is on the disk."""
        os.fsync(self._file)
        return Moment(self._number, self._size, self._starts.copy(), self._lengths.copy())

    def forget_others(self) -> None:
        """Remove the files that no moment is needed of but what was noted last."""
        for path in self._directory.glob("devices-*.log"):
            if path != self._path(self._number):
                path.unlink()

    def of(self, device: int) -> Mapping[str, bytes]:
        """By slot."""
        length = int(self._lengths[device])
        if not length:
            return {}
        return from_msgpack(os.pread(self._file, length, int(self._starts[device])), dict[str, bytes])

    def put(self, device: int, states: Mapping[str, bytes]) -> None:
        """Instead of what it remembered."""
        self._counting -= int(self._lengths[device])
        self._append(device, msgspec.msgpack.encode(states))
        self._counting += int(self._lengths[device])
        if self._size > SPARE_BYTES + 2 * self._counting:
            self._write_anew()

    def close(self) -> None:
        """It is not used any more."""
        os.close(self._file)

    def _path(self, number: int) -> Path:
        return self._directory / f"devices-{number}.log"

    def _append(self, device: int, content: bytes) -> None:
        written = 0
        while written < len(content):
            written += os.pwrite(self._file, content[written:], self._size + written)
        self._starts[device], self._lengths[device] = self._size, len(content)
        self._size += len(content)

    def _write_anew(self) -> None:
        old = self._file
        kept = [(device, self._starts[device], self._lengths[device]) for device in np.flatnonzero(self._lengths)]
        self._number, self._size = self._number + 1, 0
        self._file = os.open(self._path(self._number), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for device, start, length in kept:
            self._append(int(device), os.pread(old, int(length), int(start)))
        os.close(old)
