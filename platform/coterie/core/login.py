"""Which platform a command speaks to, and with what."""

from pathlib import Path

import click
import msgspec

FILE = Path(click.get_app_dir("coterie")) / "login.json"
"""Where `coterie login` writes it."""


class Login(msgspec.Struct, frozen=True):
    """Which platform, and the API token that opens it, as `coterie login` writes them."""

    url: str
    token: str
