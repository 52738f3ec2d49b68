"""What a launcher starts, and what every launcher does."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from coterie.cloud.errors import LaunchFailed

COMMAND_S = 120.0
"""How long a scheduler's command may take."""
WALL_S = 24 * 3600
"""How long a gang may run."""


class Gang(NamedTuple):
    """Processes that start together."""

    name: str
    """Lower case, digits and hyphens, at most 50; the same for each attempt of one job."""
    processes: int
    cores_each: int
    directory: Path
    """Directory with the training's instructions; all processes see it under this path."""
    gpus_each: int = 0


class GangStatus(NamedTuple):
    """The status of a gang."""

    state: Literal["waits", "runs", "over"]
    detail: str = ""
    """Why it waits or has ended, in the scheduler's words."""


class Launcher(Protocol):
    """A scheduler that starts gangs elsewhere."""

    @property
    def kind(self) -> str:
        """Its name for people."""
        ...

    def start(self, gang: Gang) -> None:
        """Start it. Raises LaunchFailed."""
        ...

    def poll(self, gang: Gang) -> GangStatus:
        """Its status; `over`, too, where the scheduler knows nothing of it. Raises LaunchFailed."""
        ...

    def stop(self, gang: Gang) -> None:
        """End it and any earlier attempt of the job; does nothing where there is none. Raises LaunchFailed."""
        ...


def run_command(kind: str, command: Sequence[str], *, given: str = "") -> str:
    """The output of a scheduler's command. Raises LaunchFailed."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=COMMAND_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchFailed(launcher=kind, detail=f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise LaunchFailed(launcher=kind, detail=f"{command[0]} {command[1]}: {done.stderr.strip()[-400:]}")
    return done.stdout
