"""Agents by the dozen: ``python -m tests.nat.forking`` has loaded the agent once, and forks a process for each command.

It reads commands from standard input, a line of JSON each, and answers each with a line: the process's number, or, of
one that is waited for, its exit status.
"""

import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from tests.nat.network import enter
from tests.system.eventually import eventually
from tests.system.processes import ROOT, environment
from tests.system.real_agent import COMMAND_S, Json, RealAgent


class Command(msgspec.Struct, frozen=True):
    """An agent's, in a network namespace."""

    namespace: str
    arguments: tuple[str, ...]
    prints_to: str
    """A file that takes what it writes for programs."""
    says_to: str
    """One that takes its log, and is added to."""
    is_waited_for: bool


class Forks:
    """The process that forks."""

    def __init__(self) -> None:
        variables = {**environment(), "OPENBLAS_NUM_THREADS": "1"}  # a process with threads is not to be forked
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.nat.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            cwd=ROOT,
        )

    def do(self, command: Command) -> int:
        """Its process's number, or exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(command) + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class ForkedAgent(RealAgent):
    """A real agent whose processes are forks."""

    def __init__(
        self,
        home: Path,
        url: str,
        token: str,
        *,
        forks: Forks,
        namespace: str,
        learns: tuple[NDArray[np.float32], NDArray[np.int64]],
        settings: str = "",
    ) -> None:
        self._forks, self._namespace, self._number = forks, namespace, 0
        super().__init__(home, url, token, learns=learns, settings=settings)

    def start(self, command: str = "run") -> None:
        self._number = self._do(command, is_waited_for=False)

    def kill(self) -> None:
        """As a flat battery would. Returns once its processes have let go of what they held."""
        if self._number:
            os.kill(self._number, signal.SIGKILL)
            eventually(lambda: _has_ended(self._number))
            self._number = 0

    def command(self, *arguments: str, expected: int = 0) -> Json:
        status = self._do(*arguments, "--json", is_waited_for=True)
        printed = (self.home / "printed").read_bytes()
        assert status == expected, printed
        found: Json = msgspec.json.decode(printed)
        return found

    def _do(self, *arguments: str, is_waited_for: bool) -> int:
        prints_to, says_to = (str(self.home / name) for name in ("printed", "agent.log"))
        told = ("--home", str(self.home), *arguments)
        return self._forks.do(Command(self._namespace, told, prints_to, says_to, is_waited_for))


def _has_ended(number: int) -> bool:
    """Nobody asks how a fork has ended, so that its number is kept."""
    return psutil.Process(number).status() == psutil.STATUS_ZOMBIE


def _fork(command: Command) -> int:
    number = os.fork()
    if not number:
        _become(command)
    if not command.is_waited_for:
        return number
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def _become(command: Command) -> NoReturn:
    status = 70
    try:
        from coterie_agent.cli import main

        with Path("/run/netns", command.namespace).open("rb") as entry:
            enter(entry)
        with Path(command.prints_to).open("wb") as printed, Path(command.says_to).open("ab") as log:
            os.dup2(printed.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        signal.alarm(COMMAND_S if command.is_waited_for else 0)
        sys.argv = ["coterie-agent", *command.arguments]
        main(list(command.arguments))
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 70
    except BaseException:  # noqa: BLE001 - nothing may go on from here as the process that forks
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    import onnxruntime  # noqa: F401 - what an agent loads when it trains, before the fork

    import coterie_agent.cli
    import coterie_agent.gossip.training
    import coterie_agent.training.teaching  # noqa: F401
    from coterie_agent.commands import run as _run  # noqa: F401
    from coterie_agent.training.trainer import Trainer as _Trainer  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        sys.stdout.write(f"{_fork(msgspec.json.decode(line, type=Command))}\n")
        sys.stdout.flush()
