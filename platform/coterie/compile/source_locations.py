"""The source location of an operator: its module, and the line of its author's code."""

import re
from typing import NamedTuple

MAX_LINE = 200
"""Characters of a line of code that are shown."""
FRAME = re.compile(r'File "([^"\n]{1,500})", line (\d{1,9}), in [^\n]*(?:\n\s*([^\n]*))?')
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


def line_of(stack_trace: str) -> str:
    """The innermost line of the user's code in a stack trace as Python formats it."""
    frames = [found for found in FRAME.findall(stack_trace) if not NOT_THE_USERS.search(found[0])]
    if not frames:
        return ""
    file, number, text = frames[-1]
    name = re.split(r"[/\\]", file)[-1]
    return f"{name}:{number}: {text.strip()}"[:MAX_LINE] if text.strip() else f"{name}:{number}"
