"""A platform of either mode as processes of its own, and the processor time that they have taken."""

import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import psutil
import psycopg
import redis

from coterie.config.announce import Ready
from tests.system.eventually import eventually
from tests.system.processes import ROOT, Platform, environment, kill_with_children
from tests.system.seed import Seeded

POSTGRESQL = "postgresql://postgres:postgres@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379"
PACING = {"check_ins_per_second": "1"}
"""The devices stay present, however long it takes to play them all."""
UNLIMITED = {"requests_per_minute": "1000000"}
"""A program asks as often as it can."""
CELERY = ("celery", "-A", "coterie.config.celery")


class Running(NamedTuple):
    """A platform that answers."""

    url: str
    seeded: Seeded
    processes: Callable[[], Sequence[psutil.Process]]
    """All that work for it, the database's among them."""

    def processor_s(self) -> float:
        """What they have taken so far."""
        return sum(_processor_s(process) for process in self.processes())


class Mode(NamedTuple):
    """One of the two."""

    name: str
    start: Callable[..., AbstractContextManager[Running]]
    """``start(directory, program, **settings)``; `program` of tests/benchmarks/processes, with arguments, fills it."""


def _processor_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system


def populated(*, devices: int, awake: int) -> Sequence[str]:
    """What fills a platform with devices that are ready, the first of them to hold sockets."""
    return ("populate_fleet", str(devices), str(awake))


def _filled(directory: Path, program: Sequence[str], **settings: str) -> Seeded:
    directory.mkdir(exist_ok=True)
    name, *arguments = program
    command = [sys.executable, "-m", f"tests.benchmarks.processes.{name}", str(directory), *arguments]
    done = subprocess.run(command, env=environment(**settings), stdout=subprocess.PIPE, check=True, cwd=ROOT)
    return msgspec.json.decode(done.stdout, type=Seeded)


@contextmanager
def _embedded(directory: Path, program: Sequence[str], **settings: str) -> Iterator[Running]:
    state = directory / "state"
    seeded = _filled(directory / "seed", program, state=str(state), **PACING)
    platform = Platform(state, **PACING, **settings)
    platform.start()
    server = psutil.Process(platform.told(Ready)[-1].server_pid)
    try:
        yield Running(platform.url, seeded, lambda: [server])
    finally:
        platform.stop()


@contextmanager
def _scaled(directory: Path, program: Sequence[str], **web_settings: str) -> Iterator[Running]:
    """`web_settings` are the web process's alone."""
    with ExitStack() as stack:
        name = f"bench_coterie_{secrets.token_hex(4)}"
        settings = {
            "mode": "scaled",
            "state": str(directory / "state"),
            "database_url": stack.enter_context(_database(name)),
            "redis_url": stack.enter_context(_broker()),
            "secret_key": secrets.token_hex(32),
            "signing_key": secrets.token_hex(32),
            **PACING,
        }
        seeded = _filled(directory / "seed", program, **settings)
        with psycopg.connect(settings["database_url"], autocommit=True) as database:
            database.execute("ANALYZE")
        log = stack.enter_context((directory / "log").open("wb"))
        started: list[psutil.Process] = []

        def start(*arguments: str, pass_fds: Sequence[int] = (), **more: str) -> None:
            command, env = [sys.executable, "-m", *arguments], environment(**settings, **more)
            process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=log, stderr=log, pass_fds=pass_fds)
            started.append(psutil.Process(process.pid))
            stack.callback(process.wait)
            stack.callback(kill_with_children, started[-1])

        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2048))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        start("coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),), **web_settings)
        start(*CELERY, "worker", "--pool", "threads", "--concurrency", "4")
        start(*CELERY, "beat", "--schedule", str(directory / "schedule"))
        eventually(lambda: _answers(url))
        yield Running(url, seeded, lambda: [*started, *_backends(name)])


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


def _backends(database: str) -> list[psutil.Process]:
    """PostgreSQL's processes that serve a database, and Redis, of which nobody else takes much."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if line.startswith("redis-server") or (line.startswith("postgres:") and database in line):
            found.append(process)
    return found


@contextmanager
def _database(name: str) -> Iterator[str]:
    with psycopg.connect(f"{POSTGRESQL}/postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRESQL}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _broker() -> Iterator[str]:
    for number in range(1, 15):
        with closing(redis.Redis.from_url(f"{REDIS}/{number}")) as client:
            if not client.dbsize():
                yield f"{REDIS}/{number}"
                client.flushdb()
                return
    raise RuntimeError("no Redis database from 1 to 14 is empty")


EMBEDDED = Mode("embedded", _embedded)
SCALED = Mode("scaled", _scaled)
