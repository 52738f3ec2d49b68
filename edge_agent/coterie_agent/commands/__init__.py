"""The commands of ``coterie-agent``, one a module, each imported only when it is asked for."""

from pathlib import Path
from typing import NamedTuple

import msgspec


class Output(NamedTuple):
    """The output of a command."""

    json: msgspec.Struct
    """For programs (``--json``)."""
    lines: list[str]
    """For people."""


class Arguments(msgspec.Struct, frozen=True):
    """The command line, parsed; a field that a command does not have keeps its default."""

    command: str
    home: Path
    json: bool = False
    url: str = ""
    token: str = ""
    name: str = ""
    file: Path = Path()
    replace: bool = False
    force: bool = False
    offline: bool = False
    page_on_network: bool = False
    yes: bool = False
    sign_out: bool = False
    on_trial: bool = False
    trust: Path = Path()
    allow: str = ""
    refuse: str = ""
    withdraw: str = ""
    federation: str = ""
    take_back: str = ""
    give_again: str = ""
    alliance: str = ""
    partner: str = ""
    table: Path = Path()
    identifier: str = ""
    label: str = ""
    predictions: Path = Path()
