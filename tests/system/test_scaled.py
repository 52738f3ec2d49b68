"""Scaled mode for real: PostgreSQL, Redis, and separate processes that share nothing else."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from coterie.accounts.passwords import WRONG_ALLOWED
from coterie.gateway.console.frames import AnyServerFrame, Hello, apply
from coterie_wire.messages import Capabilities, Enrol, Enrolled, Wake, decode_platform_frame
from coterie_wire.version import PROTOCOL

ROOT = Path(__file__).resolve().parents[2]
POSTGRESQL = "postgresql://postgres:postgres@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379/15"
WAIT_S = 30.0
WAKE = """
from django.db import transaction
from coterie.core.events import wake_device
with transaction.atomic():
    wake_device({device!r})
"""


RENAME = """
from coterie.fleet.models import Device
from coterie.fleet.services import change_device
change_device(device=Device.objects.get(), name="hall")
"""


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


pytestmark = [
    pytest.mark.scaled,
    pytest.mark.skipif(
        not (_answers(5432) and _answers(6379)), reason="PostgreSQL on :5432 and Redis on :6379 do not both answer"
    ),
]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """That of every process of one platform, whose database is made and dropped here."""
    database = f"test_coterie_{secrets.token_hex(4)}"
    given = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
    with psycopg.connect(f"{POSTGRESQL}/postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {database}")
        try:
            yield {
                **given,
                "PYTHONPATH": os.pathsep.join(str(ROOT / source) for source in ("platform", "edge_agent")),
                "DJANGO_SETTINGS_MODULE": "coterie.config.settings",
                "COTERIE_MODE": "scaled",
                "COTERIE_STATE": str(tmp_path),
                "COTERIE_DATABASE_URL": f"{POSTGRESQL}/{database}",
                "COTERIE_REDIS_URL": REDIS,
                "COTERIE_SECRET_KEY": secrets.token_hex(32),
                "COTERIE_SIGNING_KEY": secrets.token_hex(32),
            }
        finally:
            server.execute(f"DROP DATABASE {database} WITH (FORCE)")


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.fixture
def url(environment: Mapping[str, str]) -> Iterator[str]:
    """Of a web process on a migrated database."""
    manage(environment, "migrate", "--verbosity", "0")
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        command = [sys.executable, "-m", "uvicorn", "coterie.config.asgi:application", "--ws", "websockets-sansio"]
        web = subprocess.Popen(
            [*command, "--fd", str(listener.fileno()), "--log-level", "warning"],
            env=environment,
            pass_fds=[listener.fileno()],
        )
        port = listener.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            web.terminate()
            web.wait(WAIT_S)


def test_a_wake_goes_from_process_to_process_and_a_revocation_closes_the_socket(
    environment: Mapping[str, str], url: str
) -> None:
    password = "correct horse battery"
    create = ("createsuperuser", "--noinput", "--username", "ada", "--email", "")
    manage({**environment, "DJANGO_SUPERUSER_PASSWORD": password}, *create)
    token = manage(environment, "token", "create", "test", "--operator", "ada").strip()
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=WAIT_S) as api:
        expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        made = api.post("/api/enrolment-tokens/", json={"label": "test", "expires_at": expires_at})
        capabilities = Capabilities(cores=1, memory_bytes=1, machine="m", agent="a")
        enrol = Enrol(protocol=PROTOCOL, token=made.json()["secret"], name="kiosk", capabilities=capabilities)
        answer = httpx.post(f"{url}/device/v1/enrol", content=msgspec.json.encode(enrol), timeout=WAIT_S)
        enrolled = msgspec.json.decode(answer.content, type=Enrolled)

        address = f"{url.replace('http', 'ws', 1)}/device/v1/socket"
        with connect(address, additional_headers={"Authorization": f"Bearer {enrolled.credential}"}) as device:
            manage(environment, "shell", "--verbosity", "0", "-c", WAKE.format(device=enrolled.device))
            text = device.recv(timeout=WAIT_S)
            assert isinstance(text, str)
            assert decode_platform_frame(text.encode()) == Wake()
            _check_console_follows_other_processes(environment, url, token, enrolled.device)
            assert api.post(f"/api/devices/{enrolled.device}/revoke/").status_code == 200
            with pytest.raises(ConnectionClosed) as closed:
                device.recv(timeout=WAIT_S)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "fleet.revoked")


def _check_console_follows_other_processes(environment: Mapping[str, str], url: str, token: str, device: str) -> None:
    address = f"{url.replace('http', 'ws', 1)}/console/v1/socket"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as console:
        console.send(msgspec.json.encode(Hello(devices=(device,))).decode())
        known = apply({}, msgspec.json.decode(console.recv(timeout=WAIT_S), type=AnyServerFrame))
        assert known["device", device].name == "kiosk"
        manage(environment, "shell", "--verbosity", "0", "-c", RENAME)
        while known["device", device].name != "hall":
            known = apply(known, msgspec.json.decode(console.recv(timeout=WAIT_S), type=AnyServerFrame))


def test_who_guesses_passwords_has_to_wait(url: str) -> None:
    with httpx.Client(base_url=url, auth=("ada", "guessed"), timeout=WAIT_S) as guesser:
        answers = [guesser.get("/api/tokens/") for _ in range(WRONG_ALLOWED + 1)]
    assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "accounts.too_many_attempts")


def test_a_worker_process_performs_the_sweep_that_beat_sends(environment: Mapping[str, str]) -> None:
    manage(environment, "migrate", "--verbosity", "0")
    celery = [sys.executable, "-m", "celery", "-A", "coterie.config.celery", "worker", "--beat", "--pool", "threads"]
    schedule = f"{environment['COTERIE_STATE']}/schedule"
    with subprocess.Popen(
        [*celery, "--loglevel", "INFO", "--schedule", schedule],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        try:
            deadline = time.monotonic() + WAIT_S
            lines = iter(worker.stdout)
            assert any(
                "rounds.tasks.sweep" in line and "succeeded" in line for line in lines if time.monotonic() < deadline
            )
        finally:
            worker.terminate()
            worker.stdout.read()
