"""Which installed release runs: one small file, replaced atomically, which every release of the agent reads.

The environment that the owner has created is the base. It is never changed, and runs whenever the file is missing or
unusable. Other releases are in directories beside the file, and use the base's packages where they have none of their
own.
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
    """The environment that the owner has created."""

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
    """Whether it was reported to the platform."""


class Candidate(msgspec.Struct, frozen=True):
    """A release on trial."""

    version: str
    """Also the name of its directory."""
    update: str
    probation_s: float
    starts: int = 0
    """Number of its starts on trial."""


class VersionState(msgspec.Struct, frozen=True):
    """Which installed version of the agent runs, which ran before it, and which is on trial."""

    base: Base
    current: str = ""
    """Version, and name of the directory, of the release that runs; blank: the base."""
    former: str | None = None
    """The release before; None: there is none to return to."""
    update: str = ""
    """The update that brought the current one."""
    candidate: Candidate | None = None
    watched_until: float = 0.0
    """Unix time until which too many starts of the current release restore the former one."""
    starts: int = 0
    """Number of its starts since its trial without a regular stop."""
    schema: int | None = None
    """Schema of the store when the former release last ran."""
    ended: tuple[Ended, ...] = ()
    """Newest last."""

    def with_ended(self, ended: Ended) -> "VersionState":
        """The state after an update has ended."""
        return msgspec.structs.replace(self, ended=(*self.ended, ended)[-KEPT_OUTCOMES:])

    def has_ended(self, update: str) -> bool:
        """Whether the update has ended."""
        return any(one.update == update for one in self.ended)


@dataclass(frozen=True)
class Versions:
    """The directory of installed agents."""

    root: Path

    def read(self) -> VersionState | None:
        """The state; None: there is no readable file, so the base runs."""
        try:
            return from_json(self._file.read_bytes(), VersionState)
        except (OSError, *UNREADABLE):
            return None

    def read_or_new(self) -> VersionState:
        """The stored state; else one in which this environment is the base and runs."""
        return self.read() or VersionState(base=own_base())

    def write(self, state: VersionState) -> None:
        """Write the state; on the disk when this returns. Raises OSError."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._file, msgspec.json.encode(state))

    def change(self, change: Callable[[VersionState], VersionState]) -> VersionState:
        """Replace the stored state. Raises OSError."""
        changed = change(self.read_or_new())
        self.write(changed)
        return changed

    def end(self, update: str, version: str, outcome: UpdateOutcome, reason: Reason | None) -> None:
        """Record how an update ended. Raises OSError."""
        self.change(lambda state: state.with_ended(Ended(update, version, outcome, reason, time.time())))

    def own(self) -> str:
        """The version of the installed release that this process runs; blank: the base, or none."""
        prefix = Path(sys.prefix)
        return prefix.name if prefix.parent == self.root else ""

    def folder(self, version: str) -> Path:
        """The directory of a release, which need not exist."""
        return self.root / version

    def python(self, state: VersionState, version: str) -> str:
        """The interpreter of an installed release; a blank `version` is the base."""
        return str(self.folder(version) / "bin" / "python") if version else state.base.python

    def is_installed(self, version: str) -> bool:
        """Whether the release is installed; the base always is."""
        return not version or (self.folder(version) / "bin" / "python").exists()

    def keep_only(self, versions: set[str]) -> None:
        """Remove all other installed releases."""
        for path in self.root.iterdir():
            if path.is_dir() and path.name not in versions and (path / "pyvenv.cfg").exists():
                shutil.rmtree(path, ignore_errors=True)

    def remove_store_copy(self) -> None:
        """Remove the store's copy, and what SQLite writes beside it where it is opened."""
        for suffix in ("", "-wal", "-shm"):
            self.root.joinpath(self.store_copy.name + suffix).unlink(missing_ok=True)

    @property
    def confirmation(self) -> Path:
        """File written by a release on trial once the platform has answered its check-in."""
        return self.root / "checked-in"

    @property
    def store_copy(self) -> Path:
        """Copy of the store from before the trial."""
        return self.root / "store.before"

    @property
    def _file(self) -> Path:
        return self.root / "standing.json"


def own_base() -> Base:
    """This environment, as the base of others."""
    sites = tuple(path for path in sys.path if path.startswith(sys.prefix) and path.endswith("-packages"))
    return Base(VERSION, sys.executable, sites)
