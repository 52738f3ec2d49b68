"""The address of the platform of a state directory, which it writes there when it begins to listen."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

FILE = "address"
_PATIENCE_S = 1.0


def note_address(state: Path, url: str) -> None:
    """Record that it answers at `url`, until the next call."""
    draft = state / f"{FILE}.draft"
    draft.write_text(url, encoding="utf-8")
    draft.replace(state / FILE)


def noted_address(state: Path) -> str:
    """The address at which it answers, or answered last; blank: it has not answered yet."""
    try:
        return (state / FILE).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def is_answered(url: str) -> bool:
    """Whether something listens there."""
    place = urlsplit(url)
    assert place.hostname is not None, "it was noted whole"
    try:
        socket.create_connection((place.hostname, place.port or 443), _PATIENCE_S).close()
    except OSError:
        return False
    return True
