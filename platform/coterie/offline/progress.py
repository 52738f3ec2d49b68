"""How far something is, on one line that is written over: in a terminal and in a notebook alike."""

import sys
from types import TracebackType
from typing import Self, TextIO

WIDTH = 78


class ProgressLine:
    """Use as a context; the line ends with it. Without a stream nothing is shown."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._shown = ""

    @classmethod
    def wanted(cls, wanted: bool) -> Self:
        """On standard error, if it is wanted."""
        return cls(sys.stderr if wanted else None)

    def show(self, text: str) -> None:
        """Show `text` in place of the earlier text."""
        if self._stream is not None and text != self._shown:
            self._stream.write("\r" + text[:WIDTH].ljust(len(self._shown[:WIDTH])))
            self._stream.flush()
            self._shown = text

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._stream is not None and self._shown:
            self._stream.write("\n")
            self._stream.flush()
