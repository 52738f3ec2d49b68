"""The log file on the device, in addition to standard error; bounded, the oldest lines are dropped."""

import logging
from collections import deque
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import NamedTuple

import msgspec

from coterie_wire.device_log import MAX_LINES, MAX_LOG_BYTES, MAX_TEXT, LogLevel, LogLine
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

FILE_BYTES = 512 << 10
"""Size at which the file is rotated; one former file is kept."""
_FORMER = ".1"
_PACKAGE = "coterie_agent."


class FoundLines(NamedTuple):
    """Lines of the log to send."""

    lines: tuple[LogLine, ...]
    """Oldest first."""
    left_out: int
    """Number of older lines left out by the bounds of a delivery."""


class LogKeeper(RotatingFileHandler):
    """Writes each line of a record as a `LogLine` in JSON; a full disk is ignored, as standard error has the lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=1, encoding="utf-8", delay=True)

    def format(self, record: logging.LogRecord) -> str:
        source = record.name.removeprefix(_PACKAGE)[:100]
        lines = (
            LogLine(at=record.created, level=_level_of(record), source=source, text=_printable(text)[:MAX_TEXT])
            for text in super().format(record).splitlines()
        )
        return "\n".join(msgspec.json.encode(line).decode() for line in lines)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's
        """Ignore the error: nothing may fail because the log cannot be written."""


def keep_log(path: Path) -> None:
    """Write log records to `path` from now on, at the level of standard error."""
    logging.getLogger().addHandler(LogKeeper(path))


def delete_log(path: Path) -> None:
    """Delete the log files. Raises OSError."""
    for file in _files(path):
        file.unlink(missing_ok=True)


def read_log(path: Path, *, since: float) -> Iterator[LogLine]:
    """Lines from `since` on (Unix time), oldest first; damaged or unreadable ones are skipped."""
    for file in _files(path):
        try:
            rows = file.read_bytes().splitlines()
        except OSError:
            continue
        for row in rows:
            try:
                line = from_json(row, LogLine)
            except UNREADABLE:
                continue
            if line.at >= since:
                yield line


def newest(lines: Iterator[LogLine]) -> FoundLines:
    """The last lines, as many as a delivery may hold."""
    newest_lines: deque[tuple[LogLine, int]] = deque()
    held_bytes = left_out = 0
    for line in lines:
        size_bytes = len(msgspec.json.encode(line)) + 1
        newest_lines.append((line, size_bytes))
        held_bytes += size_bytes
        while held_bytes > MAX_LOG_BYTES or len(newest_lines) > MAX_LINES:
            held_bytes -= newest_lines.popleft()[1]
            left_out += 1
    return FoundLines(tuple(line for line, _ in newest_lines), left_out)


def _files(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + _FORMER), path


def _level_of(record: logging.LogRecord) -> LogLevel:
    if record.levelno >= logging.ERROR:
        return "error"
    return "warning" if record.levelno >= logging.WARNING else "info"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
