"""Which platform a command speaks to, and with what."""

import msgspec


class Login(msgspec.Struct, frozen=True):
    """Which platform, and the API token that opens it, as `coterie login` writes them."""

    url: str
    token: str
