"""Checkpoints of training: its state between two epochs or two steps, in one file that is replaced as a whole."""

import hashlib
import logging
import os
from pathlib import Path

import msgspec

from coterie.cloud.epochs import EpochsSoFar, Moment
from coterie_wire.structs import from_msgpack

logger = logging.getLogger(__name__)

DIGEST_BYTES = hashlib.sha256().digest_size


class Stored(msgspec.Struct, frozen=True):
    """Everything that the rest of a training depends on."""

    standing: EpochsSoFar
    trainee: bytes
    """The state that training needs to continue, as a tensor file."""
    steps: int = 0
    """Of the epoch after those of `standing`, how many are done."""

    @property
    def moment(self) -> Moment:
        """When it was written."""
        return Moment(self.standing.epochs, self.steps)


def read_checkpoint(path: Path) -> Stored | None:
    """What `write_checkpoint` wrote last; None if it never did, or if that is damaged: training then begins anew."""
    content = read_file(path)
    return None if content is None else from_msgpack(content, Stored)


def write_checkpoint(path: Path, stored: Stored) -> None:
    """Replace the checkpoint; a process that dies in between leaves the old one."""
    replace_file(path, msgspec.msgpack.encode(stored))


def read_file(path: Path) -> bytes | None:
    """What `replace_file` wrote last; None if it never did, or if that is damaged."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    content = stored[DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != stored[:DIGEST_BYTES]:
        logger.warning("%s is damaged; what it would save is done once more", path.name)
        return None
    return content


def replace_file(path: Path, content: bytes) -> None:
    """Write `path` in one step, its SHA-256 first; it is on the disk when this returns."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
