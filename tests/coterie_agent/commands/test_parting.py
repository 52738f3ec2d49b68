"""What a device's owner is told and asked before the device leaves, or has itself forgotten; until then it stays."""

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie_agent.cli import main
from coterie_agent.errors import Exit
from coterie_agent.home import Home, RunLock
from coterie_agent.store.opened import open_store
from coterie_wire.messages import Leave
from tests.coterie_agent.commands.test_join import Terminal
from tests.coterie_agent.fake_platform import TOKEN, FakePlatform
from tests.coterie_agent.test_cli import ENVIRONMENT
from tests.coterie_agent.test_cli import command as of_agent

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    tmp_path: Path, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    def run(*arguments: str, types: str | None = None) -> tuple[int, str, str]:
        """Exit code, standard output and error; `types` is what the owner types, None: nobody is there."""
        monkeypatch.setattr(sys, "stdin", io.StringIO() if types is None else Terminal(types))
        with pytest.raises(SystemExit) as ended:
            main(["--home", str(tmp_path), *arguments])
        return (int(ended.value.code or 0), *capsys.readouterr())

    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert run("join", platform.url, TOKEN, "--name", "kiosk", "--yes")[0] == 0
    assert run("ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return run


def has_left(home: Path, platform: FakePlatform) -> bool:
    with open_store(Home(home)) as store:
        is_joined = store.identity.find() is not None
    told = bool(platform.forgotten) or any(isinstance(message, Leave) for message in platform.received)
    assert told is not is_joined
    return told


@pytest.mark.parametrize("command", ["leave", "forget"])
def test_the_owner_reads_what_goes_and_stays_and_agrees(
    run: Run, tmp_path: Path, platform: FakePlatform, command: str
) -> None:
    code, _, shown = run(command, types="y\n")
    assert code == 0 and has_left(tmp_path, platform)
    for told in (f"kiosk leaves {platform.url}", "Removed here: the credential", "1 sample,", str(tmp_path), "[y/N]"):
        assert told in shown


@pytest.mark.parametrize("types", ["n\n", "\n", ""])
@pytest.mark.parametrize("command", ["leave", "forget"])
def test_who_does_not_agree_stays(run: Run, tmp_path: Path, platform: FakePlatform, command: str, types: str) -> None:
    code, _, shown = run(command, "--force", types=types)
    assert (code, "[owner.declined]" in shown, has_left(tmp_path, platform)) == (Exit.USAGE, True, False)


@pytest.mark.parametrize("command", ["leave", "forget"])
def test_where_nobody_can_be_asked_it_stays_and_says_what_to_do(
    run: Run, tmp_path: Path, platform: FakePlatform, command: str
) -> None:
    code, _, shown = run(command, "--force")
    assert code == Exit.USAGE and "[owner.nobody_to_ask]" in shown and f"coterie-agent {command} --yes" in shown
    code, told, _ = run(command, "--json", types="y\n")
    assert code == Exit.USAGE and "owner.nobody_to_ask" in told, "programs are never prompted"
    assert not has_left(tmp_path, platform)


@pytest.mark.parametrize("command", ["leave", "forget"])
def test_scripts_say_yes(run: Run, tmp_path: Path, platform: FakePlatform, command: str) -> None:
    code, _, shown = run(command, "--yes")
    assert (code, shown, has_left(tmp_path, platform)) == (0, "", True)


@pytest.mark.parametrize("command", ["leave", "forget"])
def test_while_the_agent_runs_nothing_is_asked(run: Run, tmp_path: Path, command: str) -> None:
    with RunLock(Home(tmp_path).lock):
        code, _, shown = run(command, types="y\n")
    assert (code, "[y/N]" in shown) == (Exit.ALREADY_RUNNING, False)


def test_ctrl_c_is_no_yes(run: Run, tmp_path: Path, platform: FakePlatform) -> None:
    terminal, his = pty.openpty()
    asked = subprocess.Popen(
        of_agent(tmp_path, "leave"), env=ENVIRONMENT, stdin=his, stderr=subprocess.PIPE, start_new_session=True
    )
    with asked as process:
        assert process.stderr is not None
        shown = b""
        while not shown.endswith(b"[y/N] "):
            shown += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read(), process.wait(10)) == (b"\n", -signal.SIGINT)
    os.close(terminal)
    os.close(his)
    assert not has_left(tmp_path, platform)


def test_a_request_to_forget_that_was_interrupted_is_finished_without_asking(
    run: Run, tmp_path: Path, platform: FakePlatform
) -> None:
    platform.fault = _away
    assert run("forget", "--yes")[0] == Exit.UNREACHABLE
    platform.fault = None
    assert run("forget")[0] == 0 and has_left(tmp_path, platform)
    code, told, shown = run("forget")
    assert (code, "receipt" in told, shown) == (0, True, ""), "only the receipt is read"


@pytest.mark.parametrize("command", ["leave", "forget"])
def test_where_the_platform_is_away_it_stays_and_its_owner_reads_what_he_can_do(
    run: Run, tmp_path: Path, platform: FakePlatform, command: str
) -> None:
    platform.close()
    code, _, shown = run(command, "--yes")
    assert (code, "Nothing was removed" in shown, "--force" in shown) == (Exit.UNREACHABLE, True, True)
    assert not has_left(tmp_path, platform)
    assert run(command, "--yes", "--force")[0] == 0
    with open_store(Home(tmp_path)) as store:
        assert store.identity.find() is None


def _away(path: str) -> None:
    if path.endswith("/forget"):
        raise ConnectionError
