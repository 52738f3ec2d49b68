"""Checkpoints of training: its state after each epoch, in one file that is replaced as a whole."""

import os
from pathlib import Path

import msgspec

from coterie.cloud.epochs import EpochsSoFar
from coterie_wire.structs import from_msgpack


class Stored(msgspec.Struct, frozen=True):
    """Everything that the next epoch depends on."""

    standing: EpochsSoFar
    trainee: bytes
    """The state that training needs to continue, as a tensor file."""


def read_checkpoint(path: Path) -> Stored | None:
    """What `write_checkpoint` wrote last; None if it never did."""
    try:
        return from_msgpack(path.read_bytes(), Stored)
    except FileNotFoundError:
        return None


def write_checkpoint(path: Path, stored: Stored) -> None:
    """Replace the checkpoint; a process that dies in between leaves the old one."""
    replace_file(path, msgspec.msgpack.encode(stored))


def replace_file(path: Path, content: bytes) -> None:
    """Write `path` in one step; it is on the disk when this returns."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
