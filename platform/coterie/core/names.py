"""Names that people give, which others read in lists and logs."""

import re

from coterie.core.errors import CoterieError, ErrorKind

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What breaks lines or steers a terminal (C0 and C1), turns the direction of text (UAX 9), or is half a character."""


class BadName(CoterieError):
    """A name that could mislead readers of a list or a log. Fields: name, character."""

    code = "names.control_character"
    kind = ErrorKind.INVALID
    sentence = "{name} is no name: it holds the control character {character}; leave it out."


def checked_name(name: str) -> str:
    """`name`, if it has no control characters. Raises BadName."""
    found = CONTROL.search(name)
    if found is not None:
        raise BadName(name=ascii(name), character=f"U+{ord(found.group()):04X}")
    return name
