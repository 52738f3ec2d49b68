"""The hour in the device's local time, even if its time zone changes while the agent runs."""

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

SYSTEM_ZONE = Path("/etc/localtime")


class LocalHour:
    """Reads the system's time zone again when it has changed, which the C library does once in a process's life."""

    def __init__(self, zone_file: Path = SYSTEM_ZONE, *, fixed: str | None = None) -> None:
        """`fixed`: a zone other than the system's, as in the variable ``TZ``."""
        self._file = zone_file
        self._fixed = fixed if fixed is not None else os.environ.get("TZ")  # noqa: TID251 - the C library obeys it, too
        self._seen: tuple[int, int, int] | None = None
        self._zone: tzinfo | None = None

    def __call__(self, at: datetime | None = None) -> int:
        """0 to 23, now or `at`."""
        return (at or datetime.now(UTC)).astimezone(self._current()).hour

    def _current(self) -> tzinfo | None:
        """The zone; None: that of the C library."""
        if self._fixed:
            return None
        try:
            stat = self._file.stat()
            seen = (stat.st_dev, stat.st_ino, stat.st_mtime_ns)
            if seen != self._seen:
                with self._file.open("rb") as file:
                    self._zone = ZoneInfo.from_file(file)
                self._seen = seen
        except (OSError, ValueError):  # Android has no such file, and its C library asks the system each time
            self._seen = self._zone = None
        return self._zone
