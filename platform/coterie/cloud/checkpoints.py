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
    """The complete state from which a training resumes."""

    standing: EpochsSoFar
    trainee: bytes
    """The state of training, as a tensor file."""
    steps: int = 0
    """How many steps are done of the epoch after those of `standing`."""

    @property
    def moment(self) -> Moment:
        """The epoch and step at which it was written."""
        return Moment(self.standing.epochs, self.steps)


def read_checkpoint(path: Path) -> Stored | None:
    """The last checkpoint that `write_checkpoint` wrote; None if there is none or it is damaged: training starts
    over.
    """
    content = read_file(path)
    return None if content is None else from_msgpack(content, Stored)


def write_checkpoint(path: Path, stored: Stored) -> None:
    """Replace the checkpoint; a process that dies meanwhile leaves the old one."""
    replace_file(path, msgspec.msgpack.encode(stored))


def read_file(path: Path) -> bytes | None:
    """The content that `replace_file` wrote last; None if there is none or it is damaged."""
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
    """Write `path` atomically, its SHA-256 first; durable when this returns."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
