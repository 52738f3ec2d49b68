"""Device states in an append-only file, with sixteen bytes of memory for each device of the fleet.

Replaced states stay in the file until they take half of it; then the file is rewritten. So a recorded snapshot can be
restored.
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
"""Bytes of replaced states that a file may always contain."""


class Moment(NamedTuple):
    """A snapshot of all device states."""

    file: int
    size_bytes: int
    starts: Int64
    """[devices]: offset of each state in the file."""
    lengths: Int64
    """[devices]: size in bytes; 0: no state."""


class DeviceStates:
    """The device states of one simulation, in its directory."""

    def __init__(self, directory: Path, moment: Moment, flags: int) -> None:
        self._directory, self._number, self._size = directory, moment.file, moment.size_bytes
        self._starts, self._lengths = moment.starts.copy(), moment.lengths.copy()
        self._counting = int(self._lengths.sum())
        self._file = os.open(self._path(self._number), os.O_RDWR | flags)

    @classmethod
    def nothing(cls, directory: Path, *, devices: int) -> Self:
        """All states empty."""
        moment = Moment(0, 0, np.zeros(devices, np.int64), np.zeros(devices, np.int64))
        return cls(directory, moment, os.O_CREAT | os.O_TRUNC)

    @classmethod
    def at(cls, directory: Path, moment: Moment) -> Self:
        """The states of a snapshot. Raises DamagedSimulation where the file is too short."""
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
        """A snapshot of the current states, after syncing to disk."""
        os.fsync(self._file)
        return Moment(self._number, self._size, self._starts.copy(), self._lengths.copy())

    def forget_others(self) -> None:
        """Remove files that the latest snapshot does not need."""
        for path in self._directory.glob("devices-*.log"):
            if path != self._path(self._number):
                path.unlink()

    def of(self, device: int) -> Mapping[str, bytes]:
        """The states of a device by slot."""
        length = int(self._lengths[device])
        if not length:
            return {}
        return from_msgpack(os.pread(self._file, length, int(self._starts[device])), dict[str, bytes])

    def put(self, device: int, states: Mapping[str, bytes]) -> None:
        """Replace the states of a device."""
        self._counting -= int(self._lengths[device])
        self._append(device, msgspec.msgpack.encode(states))
        self._counting += int(self._lengths[device])
        if self._size > SPARE_BYTES + 2 * self._counting:
            self._write_anew()

    def close(self) -> None:
        """Close the file."""
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
