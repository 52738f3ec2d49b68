"""Which of several installed agents runs, in real processes; the agents are shell scripts that note that they ran."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from coterie_agent import VERSION
from coterie_agent.home import Home
from coterie_agent.versions.state import Base, Candidate, Versions, VersionState

LAUNCH = """
import sys
from pathlib import Path
from coterie_agent.versions.launching import run_current
run_current(["--home", sys.argv[1], sys.argv[2]])
print("own")
"""
CHECKS_IN = 'touch "{versions}/checked-in"; while :; do sleep 0.1; done'
CRASHES = "exit 3"
HANGS = "while :; do sleep 0.1; done"
MIGRATES = '"{python}" -c "{sql}"; exit 3'


class Device:
    """A home with agents beside each other; the base is this environment."""

    def __init__(self, home: Home) -> None:
        home.create()
        self.home = home
        self.versions = Versions(home.versions)
        self.set_schema(3)

    def install(self, version: str, does: str) -> None:
        python = self.versions.folder(version) / "bin" / "python"
        python.parent.mkdir(parents=True)
        (python.parents[1] / "pyvenv.cfg").touch()
        does = does.format(versions=self.versions.root, python=sys.executable, sql=self._migration())
        noted = f'echo {version} "$@" >> "{self.home.root}/ran"'
        script = f"#!/bin/sh\n{noted}\ntrap 'exit 0' TERM\n{does}\n"
        python.write_text(script)
        python.chmod(0o755)

    def set_schema(self, schema: int) -> None:
        with closing(sqlite3.connect(self.home.database)) as connection:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute(f"PRAGMA user_version = {schema}")

    def schema(self) -> int:
        with closing(sqlite3.connect(self.home.database)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def stand(self, **fields: object) -> None:
        self.versions.write(state(**fields))

    def launch(self, command: str = "run") -> str:
        """What this environment prints once it is this agent that runs; blank: another took its place."""
        done = subprocess.run(self._command(command), capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip() or done.stderr.strip()

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command("run"))

    def ran(self) -> list[str]:
        path = self.home.root / "ran"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def outcomes(self) -> list[tuple[str, str | None]]:
        found = self.versions.read()
        assert found is not None
        return [(one.outcome, one.reason and one.reason.code) for one in found.ended]

    def _command(self, command: str) -> list[str]:
        return [sys.executable, "-c", LAUNCH, str(self.home.root), command]

    def _migration(self) -> str:
        return f"import sqlite3; sqlite3.connect('{self.home.database}').execute('PRAGMA user_version = 9')"


def state(**fields: object) -> VersionState:
    base = Base(VERSION, sys.executable, ())
    return msgspec.structs.replace(VersionState(base=base), **fields)


def candidate(version: str = "9.0", *, probation_s: float = 30.0, starts: int = 0) -> Candidate:
    return Candidate(version, "an-update", probation_s, starts)


@pytest.fixture
def device(home: Home) -> Device:
    return Device(home)


def test_without_a_file_this_agent_runs(device: Device) -> None:
    assert device.launch() == "own"


@pytest.mark.parametrize("content", [b"", b"{", b'{"base": 1}', b"\xff"])
def test_a_damaged_file_leaves_the_owners_agent_running(device: Device, content: bytes) -> None:
    device.versions.root.mkdir()
    (device.versions.root / "standing.json").write_bytes(content)
    assert device.launch() == "own"


@pytest.mark.parametrize("command", ["run", "status"])
def test_every_command_is_the_current_agents(device: Device, command: str) -> None:
    device.install("9.0", "exit 0")
    device.stand(current="9.0", former="")
    assert device.launch(command) == ""
    assert device.ran() == ["9.0"]


def test_one_that_checks_in_takes_the_place(device: Device) -> None:
    device.install("9.0", f'case "$*" in *--on-trial*) {CHECKS_IN};; esac')
    device.install("8.0", "exit 0")
    device.stand(candidate=candidate())
    assert device.launch() == ""
    assert device.ran() == ["9.0", "9.0"]
    found = device.versions.read()
    assert found is not None
    assert (found.current, found.former, found.schema, found.candidate) == ("9.0", "", 3, None)
    assert device.outcomes() == [("installed", None)]
    assert not device.versions.is_installed("8.0")
    assert not list(device.versions.root.glob("store.before*"))


def test_one_that_crashes_is_gone_back_from(device: Device) -> None:
    device.install("9.0", CRASHES)
    device.stand(candidate=candidate())
    assert device.launch() == "own"
    assert device.ran() == ["9.0"] * 3
    assert device.outcomes() == [("rolled_back", "updates.crashed")]
    assert not device.versions.is_installed("9.0")


def test_one_that_does_not_check_in_is_gone_back_from(device: Device) -> None:
    device.install("9.0", HANGS)
    device.stand(candidate=candidate(probation_s=1.0))
    assert device.launch() == "own"
    assert device.ran() == ["9.0"]
    assert device.outcomes() == [("rolled_back", "updates.not_confirmed")]


def test_the_store_goes_back_too(device: Device) -> None:
    device.install("9.0", MIGRATES)
    device.stand(candidate=candidate())
    assert device.launch() == "own"
    assert device.schema() == 3


def test_a_loss_of_power_costs_a_start_and_no_agent(device: Device) -> None:
    device.install("9.0", CRASHES)
    device.stand(candidate=candidate(starts=2))
    assert device.launch() == "own"
    assert device.ran() == ["9.0"]


def test_one_that_is_not_there_is_gone_back_from(device: Device) -> None:
    device.stand(candidate=candidate())
    assert device.launch() == "own"
    assert device.outcomes() == [("rolled_back", "updates.crashed")]


def test_a_trial_ends_when_the_agent_is_stopped(device: Device) -> None:
    device.install("9.0", HANGS)
    device.stand(candidate=candidate())
    process = device.start()
    until = time.monotonic() + 20
    while not device.ran() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    found = device.versions.read()
    assert found is not None
    assert found.candidate is not None


def test_a_current_one_that_ends_by_itself_again_and_again_is_gone_back_from(device: Device) -> None:
    device.install("9.0", CRASHES)
    device.stand(current="9.0", former="", update="an-update", schema=3, watched_until=time.time() + 60)
    for _ in range(3):
        device.launch()
    assert device.ran() == ["9.0"] * 3
    assert device.launch() == "own"
    assert device.outcomes() == [("rolled_back", "updates.crashed")]


def test_one_whose_store_the_former_cannot_read_is_kept(device: Device) -> None:
    device.install("9.0", CRASHES)
    device.stand(current="9.0", former="", schema=2, watched_until=time.time() + 60, starts=9)
    assert device.launch() == ""


def test_what_the_owner_installs_has_the_last_word(device: Device) -> None:
    device.install("9.0", "exit 0")
    device.stand(base=Base("0.1", sys.executable, ()), current="9.0", former="")
    assert device.launch() == "own"
    found = device.versions.read()
    assert found is not None
    assert (found.current, found.base.version) == ("", VERSION)


def test_a_current_one_that_was_lost_leaves_the_owners(device: Device) -> None:
    device.stand(current="9.0", former="8.0")
    assert device.launch() == "own"


def test_files_are_the_owners_alone(device: Device) -> None:
    device.stand()
    assert Path(device.versions.root).stat().st_mode & 0o077 == 0
