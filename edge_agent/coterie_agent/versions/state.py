"""Which installed agent runs: one small file, replaced in one step, which every release of the agent reads.

The environment that the owner has made is the base. It is never written to, and runs whenever the file says nothing
that it can use. Others lie in directories beside the file and take from the base what they do not have themselves.
"""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from coterie_agent import VERSION
from coterie_agent.home import write_private
from coterie_wire.conditions import Reason
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json
from coterie_wire.updating import UpdateOutcome

KEPT_OUTCOMES = 20


class Base(msgspec.Struct, frozen=True):
    """The environment that the owner has made."""

    version: str
    python: str
    """Path of its interpreter."""
    sites: tuple[str, ...]
    """Directories of its packages."""


class Ended(msgspec.Struct, frozen=True):
    """How an update ended."""

    update: str
    version: str
    outcome: UpdateOutcome
    reason: Reason | None
    at: float
    """Unix time."""
    told: bool = False
    """Whether the platform has heard it."""


class Candidate(msgspec.Struct, frozen=True):
    """An agent on trial."""

    version: str
    """Also the name of its directory."""
    update: str
    probation_s: float
    starts: int = 0
    """How often it was started on trial."""


class VersionState(msgspec.Struct, frozen=True):
    """Which installed version of the agent runs, which ran before it, and which is on trial."""

    base: Base
    current: str = ""
    """Version, and directory, of the agent that runs; blank: the base."""
    former: str | None = None
    """The one before; None: there is none that could be gone back to."""
    update: str = ""
    """The update that brought the current one."""
    candidate: Candidate | None = None
    watched_until: float = 0.0
    """Unix time until which the current one is gone back from when it starts too often."""
    starts: int = 0
    """How often it was started since its trial without having been stopped."""
    schema: int | None = None
    """Of the store when the former one ran last."""
    ended: tuple[Ended, ...] = ()
    """Newest last."""

    def with_ended(self, ended: Ended) -> "VersionState":
        """The same after an update has ended."""
        return msgspec.structs.replace(self, ended=(*self.ended, ended)[-KEPT_OUTCOMES:])

    def has_ended(self, update: str) -> bool:
        """Whether that is known of the update."""
        return any(one.update == update for one in self.ended)


@dataclass(frozen=True)
class Versions:
    """The directory of installed agents."""

    root: Path

    def read(self) -> VersionState | None:
        """None: the base runs, as always so far, or since the file cannot be read."""
        try:
            return from_json(self._file.read_bytes(), VersionState)
        except (OSError, *UNREADABLE):
            return None

    def read_or_new(self) -> VersionState:
        """What the file says; else that this environment runs and is the base."""
        return self.read() or VersionState(base=own_base())

    def write(self, standing: VersionState) -> None:
        """On the disk when this returns. Raises OSError."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._file, msgspec.json.encode(standing))

    def change(self, change: Callable[[VersionState], VersionState]) -> VersionState:
        """Replace what the file says. Raises OSError."""
        changed = change(self.read_or_new())
        self.write(changed)
        return changed

    def end(self, update: str, version: str, outcome: UpdateOutcome, reason: Reason | None) -> None:
        """Record how an update ended. Raises OSError."""
        self.change(lambda standing: standing.with_ended(Ended(update, version, outcome, reason, time.time())))

    def own(self) -> str:
        """Which of the installed agents this process is; blank: the base, or none of them."""
        prefix = Path(sys.prefix)
        return prefix.name if prefix.parent == self.root else ""

    def folder(self, version: str) -> Path:
        """Where an agent is installed; it need not be there."""
        return self.root / version

    def python(self, standing: VersionState, version: str) -> str:
        """The interpreter of an installed agent; a blank `version` is the base."""
        return str(self.folder(version) / "bin" / "python") if version else standing.base.python

    def is_installed(self, version: str) -> bool:
        """Whether it is there; the base always is."""
        return not version or (self.folder(version) / "bin" / "python").exists()

    def keep_only(self, versions: set[str]) -> None:
        """Remove all other installed agents."""
        for path in self.root.iterdir():
            if path.is_dir() and path.name not in versions and (path / "pyvenv.cfg").exists():
                shutil.rmtree(path, ignore_errors=True)

    @property
    def confirmation(self) -> Path:
        """Written by an agent on trial once the platform has answered its check-in."""
        return self.root / "checked-in"

    @property
    def store_copy(self) -> Path:
        """The store as it was before the trial."""
        return self.root / "store.before"

    @property
    def _file(self) -> Path:
        return self.root / "standing.json"


def own_base() -> Base:
    """This environment, as the base of others."""
    sites = tuple(path for path in sys.path if path.startswith(sys.prefix) and path.endswith("-packages"))
    return Base(VERSION, sys.executable, sites)
