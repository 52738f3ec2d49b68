"""A file that replaces the probes while it exists: how tests and demonstrations drive a device."""

import logging
from pathlib import Path

from coterie_wire.conditions import Conditions
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)


class OverrideFile:
    """JSON of `Conditions` at `path`, read again whenever it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._conditions: Conditions | None = None

    def read(self) -> Conditions | None:
        """The conditions in the file; all unknown when it cannot be read as such; None when there is no file."""
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen != self._seen:
                self._conditions = from_json(self._path.read_bytes(), Conditions)
                self._seen = seen
        except FileNotFoundError:
            self._seen = self._conditions = None
        except (OSError, *UNREADABLE) as error:
            if self._conditions != Conditions():
                log.error("%s is not a conditions file, so all conditions are unknown: %s", self._path, error)
            self._seen, self._conditions = None, Conditions()
        return self._conditions
