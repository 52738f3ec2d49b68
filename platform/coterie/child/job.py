"""The protocol between a process and the child that does a job for it: declaration, limits and lines of JSON."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from coterie.child.files import Files
from coterie.core.errors import CoterieError, Field

A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)


class Progress(msgspec.Struct, frozen=True, tag="progress", tag_field="line"):
    """The progress of a job: `done` of `total` parts of `stage`, with figures such as ``{"loss": 0.3}``."""

    stage: str
    done: int = 0
    total: int = 0
    values: Mapping[str, float] = {}


ReportProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class ChildJob(Generic[A, R]):
    """A pure job. Bytes are passed in files whose paths are in arguments and result; everything else is in the structs.

    It is ``JOB`` in a module that imports nothing heavy; `work` is imported in the child only.
    """

    module: str
    """Module of this declaration: ``__name__``."""
    work: str
    """``package.module:function``, a ``Callable[[A, ReportProgress], R]``."""
    arguments: type[A]
    result: type[R]
    errors: tuple[type[CoterieError], ...] = ()
    """Errors of `work` for its caller; raised again in the parent."""

    @property
    def name(self) -> str:
        """The last part of `module`, for people."""
        return self.module.rpartition(".")[2]


def load_work(work: str) -> Callable[[A, ReportProgress], R]:
    """The function that ``package.module:function`` names; its module is imported now."""
    module, _, name = work.partition(":")
    found: Callable[[A, ReportProgress], R] = getattr(importlib.import_module(module), name)
    return found


@dataclass(frozen=True)
class Limits:
    """What a child process may use."""

    wall_s: float = 600.0
    cpu_s: int = 1200
    memory_bytes: int = 4 << 30
    """Private memory (heap, stacks), without the code of shared libraries."""
    file_bytes: int = 2 << 30
    """Largest file that it may write."""
    threads: int = 1
    confined: bool = False
    """True: cut off from every network, and from all files except the system's, Python's and those that the
    arguments name as `ReadPath` or `WritePath`, where the system lets an ordinary process do that (Linux: user
    namespaces, seccomp, Landlock).
    """
    loopback: bool = False
    """Its processes communicate over the loopback interface; all others are refused sockets where the system does
    not allow a separate network.
    """
    network: bool = False
    """It communicates with other hosts, by internet sockets only: it is not cut off from networks, the other limits
    apply.
    """


class Start(msgspec.Struct, frozen=True):
    """First line to the child. Its standard input then stays open; end of file means that the parent has died."""

    parent_pid: int
    memory_bytes: int
    cpu_s: int
    file_bytes: int
    files: Files | None
    """All files that it may open besides the system's and Python's, without network; None: it is not confined."""
    loopback: bool
    """Whether its processes communicate by sockets."""
    network: bool
    """Whether they communicate with other hosts."""
    arguments: msgspec.Raw
    traced: bool = False
    """Whether the parent wants durations."""


class Timed(msgspec.Struct, frozen=True, tag="timed", tag_field="line"):
    """The duration of a part of the child's work, in nanoseconds of Unix time."""

    name: str
    began_ns: int
    ended_ns: int


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="line"):
    """Last line from a child that did its job."""

    value: msgspec.Raw


class Failure(msgspec.Struct, frozen=True, tag="failure", tag_field="line"):
    """Last line from a child whose job raised one of its declared errors, or the code of a kind raised any."""

    code: str
    fields: Mapping[str, Field]


class MemoryExceeded(msgspec.Struct, frozen=True, tag="out_of_memory", tag_field="line"):
    """Last line from a child that was refused memory."""


class NoRoom(msgspec.Struct, frozen=True, tag="disk_full", tag_field="line"):
    """Last line from a child that found the disk full."""


class Unconfined(msgspec.Struct, frozen=True, tag="unconfined", tag_field="line"):
    """First line from a child that could not apply all requested confinements."""

    missing: tuple[str, ...]
    """As in "it ran without …"."""


Line = Unconfined | Timed | Progress | Result | Failure | MemoryExceeded | NoRoom
ReportUnconfined = Callable[[Unconfined], None]
MAX_LINE_BYTES = 16 << 20
