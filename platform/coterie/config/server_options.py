"""The options that the supervisor passes to its server; a separate module, because the supervisor does not load
Django.
"""

import msgspec

from coterie.config.announce import Style

REFUSED = 4
"""Exit status of a server for which a restart is pointless; standard error has the reason."""


class ServerOptions(msgspec.Struct, frozen=True):
    """A server's share of the options and descriptors of `coterie up`."""

    listener_fd: int
    lifeline_fd: int
    url: str
    state: str
    operator: str
    style: Style
