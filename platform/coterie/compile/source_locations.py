"""The source location of an operator: its module, and the line of its author's code."""

import re
from typing import NamedTuple

MAX_LINE = 200
"""Characters of a line of code that are shown."""
FRAME = re.compile(r'File "([^"\n]{1,500})", line (\d{1,9}), in ([^\n]*)(?:\n\s*([^\n]*))?')
NOT_THE_USERS = re.compile(r"[/\\](site-packages[/\\]torch|(site-packages|platform)[/\\]coterie[/\\]compile)[/\\]")


class SourceLocation(NamedTuple):
    """Unknown fields are empty."""

    module: str
    """The path in the model, empty for the model itself."""
    line: str
    """``model.py:12: y = x.nonzero()``."""

    def __str__(self) -> str:
        owner = f"module {self.module!r}" if self.module else "the model itself"
        return f"{owner}, at {self.line!r}" if self.line else owner

    def within(self, owner: str) -> "SourceLocation":
        """The same place, for a module at the path `owner`."""
        return self._replace(module=".".join(filter(None, (owner, self.module))))

    def fields(self) -> dict[str, str]:
        """As fields of errors: ``module`` and ``line`` for programs, ``place`` for people."""
        return {"module": self.module, "line": self.line, "place": str(self)}


class Frame(NamedTuple):
    """A call in a stack trace."""

    file: str
    number: str
    """Of the line."""
    function: str
    text: str
    """The line, empty where the source was unknown."""

    @property
    def is_the_users(self) -> bool:
        """Whether it is neither PyTorch's nor the compiler's."""
        return not NOT_THE_USERS.search(self.file)


def frames_of(stack_trace: str) -> list[Frame]:
    """From the outermost to the innermost, of a stack trace as Python formats it."""
    return [Frame(file, number, function, text.strip()) for file, number, function, text in FRAME.findall(stack_trace)]


def line_of(stack_trace: str) -> str:
    """The innermost line of the user's code in a stack trace as Python formats it."""
    frames = [frame for frame in frames_of(stack_trace) if frame.is_the_users]
    if not frames:
        return ""
    innermost = frames[-1]
    name = re.split(r"[/\\]", innermost.file)[-1]
    return f"{name}:{innermost.number}: {innermost.text}"[:MAX_LINE] if innermost.text else f"{name}:{innermost.number}"
