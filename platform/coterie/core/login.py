"""The platform and credential that commands use."""

from pathlib import Path

import click
import msgspec

FILE = Path(click.get_app_dir("coterie")) / "login.json"
"""Where `coterie login` writes it."""


class Login(msgspec.Struct, frozen=True):
    """The platform and the API token for it, as `coterie login` writes them."""

    url: str
    token: str
