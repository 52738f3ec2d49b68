"""Which releases the owner has agreed to, where agent.toml says that he is asked."""

import msgspec

from coterie_agent.home import Home, write_private
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json
from coterie_wire.updating import ReleaseVersion


class Agreed(msgspec.Struct, frozen=True):
    """The owner's word."""

    versions: tuple[ReleaseVersion, ...] = ()


def agreed(home: Home) -> tuple[str, ...]:
    """The versions that may be installed; what cannot be read agrees to none."""
    try:
        return from_json(home.agreed_updates.read_bytes(), Agreed).versions
    except (OSError, *UNREADABLE):
        return ()


def agree(home: Home, version: str) -> None:
    """Let that one be installed. Raises OSError."""
    content = msgspec.json.encode(Agreed(tuple(sorted({*agreed(home), version}))))
    write_private(home.agreed_updates, content)
