"""``--json OUT`` of commands that print for people: a file in addition, or standard output instead."""

import sys
from pathlib import Path

STANDARD_OUTPUT = Path("-")
HELP = "write what was found as JSON; -: to standard output, and nothing else"


def is_alone(out: Path | None) -> bool:
    """Whether standard output has the JSON only."""
    return out == STANDARD_OUTPUT


def write_json(content: bytes, out: Path) -> None:
    """Raises OSError."""
    if is_alone(out):
        sys.stdout.write(content.decode().rstrip("\n") + "\n")
    else:
        out.write_bytes(content)
