"""Scaled mode: a round over PostgreSQL, Redis and separate processes, whose Celery worker is killed while it merges."""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
import redis

from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, STOP_S, environment, kill_with_children, prepare_state
from tests.system.scripted_device import ScriptedDevice
from tests.system.seed import Seeded

POSTGRESQL = "postgresql://postgres:postgres@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379"
DEVICES = 3
CELERY = ("celery", "-A", "coterie.config.celery")


def _missing() -> list[str]:
    """What does not answer."""

    def answers(port: int) -> bool:
        with closing(socket.socket()) as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return [name for name, port in (("PostgreSQL on :5432", 5432), ("Redis on :6379", 6379)) if not answers(port)]


pytestmark = [
    pytest.mark.scaled,
    # Where CI is set the services must be there, and the test fails without them.
    pytest.mark.skipif("CI" not in os.environ and bool(_missing()), reason=f"no answer: {', '.join(_missing())}"),
]


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a database of its own."""
    name = f"test_coterie_{secrets.token_hex(4)}"
    with psycopg.connect(f"{POSTGRESQL}/postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRESQL}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def broker() -> Iterator[str]:
    """The address of a Redis database that was empty, and is again."""
    for number in range(1, 15):
        with closing(redis.Redis.from_url(f"{REDIS}/{number}")) as client:
            if not client.dbsize():
                yield f"{REDIS}/{number}"
                client.flushdb()
                return
    pytest.fail("no Redis database from 1 to 14 is empty")


@pytest.fixture
def settings(database: str, broker: str, tmp_path: Path) -> dict[str, str]:
    """Those of every process of one platform."""
    return {
        "mode": "scaled",
        "state": str(tmp_path / "state"),
        "database_url": database,
        "redis_url": broker,
        "secret_key": secrets.token_hex(32),
        "signing_key": secrets.token_hex(32),
    }


@pytest.fixture
def start(settings: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., psutil.Process]]:
    """Starts a process of the platform: ``start(module, *arguments)``."""
    with ExitStack() as running:

        def run(*arguments: str, pass_fds: tuple[int, ...] = ()) -> psutil.Process:
            log = running.enter_context((tmp_path / f"{arguments[0]}.log").open("ab"))
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                env={**environment(**settings), "TMPDIR": str(tmp_path)},  # what is killed leaves files behind
                cwd=ROOT,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
            )
            running.callback(process.wait, STOP_S)
            running.callback(kill_with_children, psutil.Process(process.pid))
            return psutil.Process(process.pid)

        yield run


@pytest.fixture
def seeded(settings: dict[str, str], tmp_path: Path) -> Seeded:
    """Who may use the platform, once its tables are there."""
    return prepare_state(tmp_path / "seed", pairs=1, **settings)


@pytest.fixture
def url(seeded: Seeded, start: Callable[..., psutil.Process]) -> Iterator[str]:  # the tables come first
    """Of a web process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = ("--ws", "websockets-sansio", "--log-level", "warning", "--fd", str(listener.fileno()))
        start("uvicorn", "coterie.config.asgi:application", *options, pass_fds=(listener.fileno(),))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_round_ends_once_though_the_worker_is_killed_while_it_merges(
    settings: dict[str, str], seeded: Seeded, url: str, start: Callable[..., psutil.Process], tmp_path: Path
) -> None:
    start(*CELERY, "beat", "--schedule", str(tmp_path / "schedule"))
    worker = start(*CELERY, "worker", "--concurrency", "2")
    with ExitStack() as open_:
        operator = open_.enter_context(OperatorClient(url, seeded.token))
        pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}
        federation = operator.start_federation(
            "scaled", pair=seeded.pairs[0], plan={"pace": pace}, held_out=seeded.held_out, rounds_wanted=1
        )
        token = operator.enrolment_token(tag="scaled", uses=DEVICES)
        devices = [ScriptedDevice(url, token, f"device-{number}") for number in range(DEVICES)]
        for device in devices:
            open_.callback(device.close)
            device.check_in()
        assignments = [device.assignment(1).assignment for device in devices]
        for number, (device, assignment) in enumerate(zip(devices, assignments, strict=True)):
            device.deliver(assignment, payload(number))
        with psycopg.connect(settings["database_url"], autocommit=True) as database:
            state = "SELECT state FROM rounds_round WHERE lease_until IS NOT NULL"
            eventually(lambda: database.execute(state).fetchone() == ("merging",), every_s=0.002)
        kill_with_children(worker)
        assert operator.round(federation, 1)["state"] == "merging"
        start(*CELERY, "worker", "--concurrency", "2")
        round_ = operator.ended_round(federation, 1, within_s=60)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", DEVICES)
        assert [version["number"] for version in operator.list("/versions/", pair=seeded.pairs[0])] == [2, 1]
        assert httpx.get(f"{url}/healthz").status_code == 200
