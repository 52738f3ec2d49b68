"""`coterie up` for real: processes, signals, files."""

import fcntl
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

import httpx
import msgspec
import pytest

from coterie.config.announce import Announcement, FirstOperator, GaveUp, Line, Ready, Restarting, Stopped
from tests.system.conftest import Prepared

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30
A = TypeVar("A", bound=Announcement)


class Platform:
    """A platform under test, and what it has told."""

    def __init__(self, state: Path, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
        arguments = ("up", "--state", str(state), "--port", "0", "--json", *arguments)
        self._errors = state.with_name(f"{state.name}-{os.urandom(4).hex()}.log")
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *arguments],
                env={**environment, "DJANGO_SETTINGS_MODULE": "coterie.config.settings"},
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def next(self) -> Announcement | None:
        """The next line; None when it has told its last."""
        assert self.process.stdout is not None
        raw = self.process.stdout.readline()
        return msgspec.json.decode(raw, type=Line) if raw else None

    def told(self, kind: type[A]) -> A:
        """The next line of this kind."""
        while (line := self.next()) is not None:
            if isinstance(line, kind):
                return line
        raise AssertionError(f"it told no {kind.__name__}: {self.complaint()}")

    def complaint(self) -> str:
        """What it wrote to standard error."""
        return self._errors.read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        """Leave nothing of it, whatever the test did."""
        if self.process.poll() is None:
            self.end()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def up() -> Iterator[Callable[..., Platform]]:
    """Starts a platform: ``up(state, *arguments)``."""
    with ExitStack() as started:

        def start(state: Path, *arguments: str) -> Platform:
            platform = Platform(state, *arguments)
            started.callback(platform.close)
            return platform

        yield start


@pytest.fixture(scope="module")
def platform(up: Callable[..., Platform], tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """One that runs; the tests that share it leave it running."""
    return up(tmp_path_factory.mktemp("platform") / "state")


@pytest.fixture(scope="module")
def operator(platform: Platform) -> FirstOperator:
    return platform.told(FirstOperator)


@pytest.fixture(scope="module")
def ready(platform: Platform, operator: FirstOperator) -> Ready:
    return platform.told(Ready)


def _signs_in(url: str, operator: FirstOperator) -> bool:
    body = {"name": f"token-{os.urandom(4).hex()}"}
    answer = httpx.post(f"{url}/api/tokens/", json=body, auth=(operator.name, Path(operator.password_file).read_text()))
    return answer.status_code == 201


def _wait_until_free(state: Path) -> None:
    """Until no process holds the state directory any more."""
    with (state / "lock").open() as lock, ThreadPoolExecutor(1) as pool:
        pool.submit(fcntl.flock, lock, fcntl.LOCK_EX).result(WAIT_S)


def test_one_platform_a_state_directory(up: Callable[..., Platform], platform: Platform, ready: Ready) -> None:
    second = up(Path(ready.state))
    assert second.process.wait(WAIT_S) == 1
    assert f"another platform (process {platform.process.pid}) runs on" in second.complaint()


def test_one_platform_an_address(up: Callable[..., Platform], ready: Ready, tmp_path: Path) -> None:
    second = up(tmp_path / "other", "--port", ready.url.rpartition(":")[2])
    assert second.process.wait(WAIT_S) == 1
    assert "choose another --port" in second.complaint()


@pytest.mark.long
def test_a_killed_server_is_started_again_at_the_same_address(
    platform: Platform, operator: FirstOperator, ready: Ready
) -> None:
    os.kill(ready.server_pid, signal.SIGKILL)
    assert platform.told(Restarting).status == -signal.SIGKILL
    # The socket stays open in between: a request waits for the next server instead of failing.
    assert httpx.get(f"{ready.url}/healthz", timeout=WAIT_S).json()["status"] == "ok"
    after = platform.told(Ready)
    assert (after.url, after.supervisor_pid) == (ready.url, ready.supervisor_pid)
    assert after.server_pid != ready.server_pid
    assert _signs_in(after.url, operator)


def test_stops_goes_on_where_it_was_and_leaves_nothing_behind(up: Callable[..., Platform], tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = up(state)
    operator = first.told(FirstOperator)
    first.told(Ready)
    assert first.end(signal.SIGTERM) == 0
    assert first.told(Stopped)
    _wait_until_free(state)
    assert state.stat().st_mode & 0o777 == 0o700
    password_file = Path(operator.password_file)
    assert password_file.stat().st_mode & 0o777 == 0o600
    assert password_file.read_text() not in first.complaint()

    again = up(state)
    line = again.next()
    assert isinstance(line, Ready), "the first operator is made, and told, once"
    assert _signs_in(line.url, operator)
    again.end(signal.SIGKILL)
    _wait_until_free(state)  # the server ends with its supervisor


@pytest.mark.long
def test_the_first_password_goes_when_somebody_has_signed_in(up: Callable[..., Platform], tmp_path: Path) -> None:
    first = up(tmp_path)
    operator = first.told(FirstOperator)
    url = first.told(Ready).url
    password = Path(operator.password_file).read_text()
    with httpx.Client(base_url=url) as browser:
        browser.get("/api/session/")
        token = {"X-CSRFToken": browser.cookies["csrftoken"]}
        body = {"username": operator.name, "password": password}
        assert browser.post("/api/session/", json=body, headers=token).status_code == 200
    first.end()
    _wait_until_free(tmp_path)
    up(tmp_path).told(Ready)
    assert not Path(operator.password_file).exists()


@pytest.mark.long
def test_a_services_journal_has_no_password_and_says_that_root_is_not_needed(
    up: Callable[..., Platform], tmp_path: Path
) -> None:
    service = up(tmp_path)
    operator = service.told(FirstOperator)
    service.told(Ready)
    password = Path(operator.password_file)
    service.end()
    assert operator.password == ""
    assert password.stat().st_mode & 0o777 == 0o600
    assert service.process.stdout is not None
    journal = msgspec.json.encode(operator).decode() + service.process.stdout.read().decode() + service.complaint()
    assert len(password.read_text()) > 10
    assert password.read_text() not in journal
    assert ("runs as root" in journal) == (os.geteuid() == 0)


def test_a_newer_database_is_refused_at_once(up: Callable[..., Platform], prepared: Prepared, tmp_path: Path) -> None:
    shutil.copytree(prepared.untouched, tmp_path, dirs_exist_ok=True)
    with closing(sqlite3.connect(tmp_path / "coterie.sqlite3")) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('rounds', '9999_from_the_future', '2030-01-01')"
        )
        database.commit()
    older = up(tmp_path)
    assert older.told(GaveUp).times == 1
    assert older.process.wait(WAIT_S) == 1
    assert "rounds.9999_from_the_future" in older.complaint()


@pytest.mark.long
def test_gives_up_on_a_server_that_never_gets_ready(up: Callable[..., Platform], tmp_path: Path) -> None:
    (tmp_path / "coterie.sqlite3").write_bytes(b"this is no database" * 100)
    broken = up(tmp_path)
    assert broken.told(GaveUp).times == 3
    assert broken.process.wait(WAIT_S) == 1
    assert "file is not a database" in broken.complaint()
