"""What the supervisor hands to its server; apart from both, because the supervisor stays light without Django."""

import msgspec

from coterie.config.announce import Style

REFUSED = 4
"""Exit status of a server that another start will not help; standard error says why."""


class ServerOptions(msgspec.Struct, frozen=True):
    """One server's share of what `coterie up` was told and opened."""

    listener_fd: int
    lifeline_fd: int
    url: str
    state: str
    operator: str
    style: Style
