"""The platform of a soak: two web processes, a worker and a beat on PostgreSQL and Redis, and what they hold."""

import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import psutil
import redis

from tests.benchmarks.soak.vacuuming import vacuumed
from tests.system.eventually import eventually
from tests.system.processes import ROOT, environment, kill_with_children
from tests.system.scaled import CELERY, REDIS, new_database
from tests.system.seed import Seeded

SETTINGS = "tests.benchmarks.processes.short_retention"
KEEP_VERSIONS = 10
STARTED_S = 120.0


class Soaked(NamedTuple):
    """A platform that runs, and where all that it keeps lies."""

    urls: tuple[str, ...]
    """Of its web processes."""
    seeded: Seeded
    processes: Mapping[str, psutil.Process]
    """By what they are."""
    database: str
    broker: str
    state: Path
    """Which its processes share; its folders are its stores."""
    scratch: Path
    """In which they make temporary files."""
    logs: Path


@contextmanager
def soaked(directory: Path, *, devices: int, awake: int) -> Iterator[Soaked]:
    """A platform with that many devices, the first of them tagged as awake."""
    with ExitStack() as running:
        database = running.enter_context(new_database())
        broker = running.enter_context(_broker())
        state, scratch, logs = directory / "state", directory / "scratch", directory / "logs"
        for folder in (scratch, logs):
            folder.mkdir()
        settings = {
            "mode": "scaled",
            "state": str(state),
            "database_url": database,
            "redis_url": broker,
            "secret_key": secrets.token_hex(32),
            "signing_key": secrets.token_hex(32),
            "keep_versions": str(KEEP_VERSIONS),
            "keep_every": "0",
            "webhook_hosts": "127.0.0.1",
            "exporters": "tensorboard",
            "tensorboard_dir": str(directory / "tensorboard"),
        }
        known = {**environment(**settings), "DJANGO_SETTINGS_MODULE": SETTINGS, "TMPDIR": str(scratch)}
        running.enter_context(vacuumed(database))
        seeded = _populated(directory / "seed", devices, awake, known)
        processes: dict[str, psutil.Process] = {}

        def start(name: str, *arguments: str, pass_fds: tuple[int, ...] = ()) -> None:
            command = [sys.executable, "-m", *arguments]
            with (logs / f"{name}.log").open("ab") as log:
                process = subprocess.Popen(command, env=known, cwd=ROOT, stdout=log, stderr=log, pass_fds=pass_fds)
            processes[name] = psutil.Process(process.pid)
            running.callback(process.wait)
            running.callback(kill_with_children, processes[name])

        urls = []
        for name in ("web 1", "web 2"):
            listener = running.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
            start(name, "coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),))
            urls.append(f"http://127.0.0.1:{listener.getsockname()[1]}")
        start("worker", *CELERY, "worker", "--pool", "threads", "--concurrency", "2")
        start("beat", *CELERY, "beat", "--schedule", str(directory / "schedule"))
        for url in urls:
            eventually(lambda url=url: _answers(url), within_s=STARTED_S)  # type: ignore[misc]
        yield Soaked(tuple(urls), seeded, processes, database, broker, state, scratch, logs)


def _populated(directory: Path, devices: int, awake: int, known: Mapping[str, str]) -> Seeded:
    directory.mkdir()
    module = "tests.benchmarks.processes.populate_fleet"
    command = [sys.executable, "-m", module, str(directory), str(devices), str(awake)]
    done = subprocess.run(command, env=known, stdout=subprocess.PIPE, check=True, cwd=ROOT)
    return msgspec.json.decode(done.stdout, type=Seeded)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


@contextmanager
def _broker() -> Iterator[str]:
    """A Redis database that nobody uses; tests take the first, and chaos the last."""
    for number in range(14, 0, -1):
        with closing(redis.Redis.from_url(f"{REDIS}/{number}")) as client:
            if not client.dbsize():
                client.set("soak", "taken")
                try:
                    yield f"{REDIS}/{number}"
                finally:
                    client.flushdb()
                return
    raise RuntimeError("no Redis database from 1 to 14 is empty")
