"""``coterie-agent unit``: a systemd unit that runs the agent from the owner's login or the machine's start on."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.versions.state import Versions

FINAL = (
    Exit.USAGE,
    Exit.NOT_JOINED,
    Exit.BAD_CONFIG,
    Exit.ALREADY_RUNNING,
    Exit.REVOKED,
    Exit.STORE_DAMAGED,
)
"""Exit codes after which a restart would not help."""
UNIT = """\
[Unit]
Description=Coterie agent: learns from this device's own data when its owner's conditions hold
StartLimitIntervalSec=0

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=30
RestartPreventExitStatus={final}
TimeoutStopSec=10
Nice=10
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""


class Unit(msgspec.Struct, frozen=True):
    """The text of the file."""

    unit: str


def run(arguments: Arguments) -> Output:
    """Print a unit with absolute paths of the owner's Python and this home, so that it needs no search path."""
    python = Versions(Home(arguments.home).versions).read_or_new().base.python
    words = (python, "-m", "coterie_agent", "--home", str(arguments.home), "run")
    text = UNIT.format(command=" ".join(map(_quoted, words)), final=" ".join(str(int(code)) for code in FINAL))
    return Output(Unit(text), text.splitlines())


def _quoted(word: str) -> str:
    """Quoted for systemd as one word, without specifiers and variables."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or any(letter.isspace() for letter in plain) else plain
