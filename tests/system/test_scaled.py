"""Scaled mode for real: PostgreSQL, Redis, and separate processes that share nothing else."""

import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import msgspec
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from coterie.accounts.passwords import WRONG_ALLOWED
from coterie.gateway.console.frames import AnyServerFrame, Hello, apply
from coterie.gateway.ending import CONNECTS_PER_SECOND
from coterie_wire.closing import SERVICE_RESTART, close_reason
from coterie_wire.messages import Capabilities, Enrol, Enrolled, Wake, decode_platform_frame
from coterie_wire.version import PROTOCOL
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, environment, kill_with_children, prepare_state
from tests.system.scaled import CELERY, SCALED, Processes, new_database
from tests.system.scripted_device import ScriptedDevice
from tests.system.seed import Seeded

DEVICES = 3
WAIT_S = 30.0
WAKE = """
from django.db import transaction
from coterie.core.events import wake_device
with transaction.atomic():
    wake_device({device!r})
"""
IS_WHOLE = """
import hashlib
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob, ModelVersion
assert ModelVersion.objects.count() == 1
for blob in Blob.objects.all():
    with BLOBS.open(blob.sha256) as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == blob.sha256
"""
EXCLUDES = """
from coterie.core.file_removal import no_removal, removal
with no_removal(), no_removal(), removal() as allowed:
    assert not allowed
with removal() as allowed, removal() as another:
    assert allowed and not another
with removal() as allowed:
    assert allowed
"""
RENAME = """
from coterie.fleet.models import Device
from coterie.fleet.services import change_device
change_device(device=Device.objects.get(pk={device!r}), name="hall")
"""


pytestmark = SCALED


@pytest.fixture(scope="module")
def settings(database: str, broker: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Those of every process of one platform, which the tests share."""
    return {
        "mode": "scaled",
        "state": str(tmp_path_factory.mktemp("scaled") / "state"),
        "database_url": database,
        "redis_url": broker,
        "secret_key": secrets.token_hex(32),
        "signing_key": secrets.token_hex(32),
    }


@pytest.fixture(scope="module")
def seeded(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    """Who may use the platform, once its tables are there."""
    return prepare_state(tmp_path_factory.mktemp("seed"), pairs=1, **settings)


@pytest.fixture(scope="module")
def url(seeded: Seeded, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a web process, once the tables are there."""
    with ExitStack() as running:
        listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        web = Processes(settings, tmp_path_factory.mktemp("web"), running)
        web.start("coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def processes(seeded: Seeded, settings: dict[str, str], tmp_path: Path) -> Iterator[Processes]:
    """Those that a test starts for itself, once the tables are there."""
    with ExitStack() as running:
        yield Processes(settings, tmp_path, running)


@pytest.mark.long
def test_a_backup_becomes_a_platform_with_a_database_of_its_own(
    settings: dict[str, str], seeded: Seeded, tmp_path: Path
) -> None:
    assert seeded.pairs, "there is something to copy"

    def coterie(*arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "coterie", *arguments]
        given = environment(**{**settings, **changed})
        return subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    backup, state = str(tmp_path / "backup"), str(tmp_path / "state")
    taken = coterie("backup", backup)
    assert taken.returncode == 0, taken.stderr
    refused = coterie("restore", backup, state=state)
    assert (refused.returncode, "[backup.database_not_empty]" in refused.stderr) == (1, True)
    with new_database() as other, ExitStack() as running:
        restored = coterie("restore", backup, state=state, database_url=other)
        assert restored.returncode == 0, restored.stderr
        Processes({**settings, "state": state, "database_url": other}, tmp_path, running).shell(IS_WHOLE)


@pytest.mark.long
def test_backups_and_removals_exclude_each_other_without_a_common_disk(processes: Processes) -> None:
    processes.shell(EXCLUDES)


def test_a_wake_goes_from_process_to_process_and_a_revocation_closes_the_socket(
    url: str, seeded: Seeded, processes: Processes
) -> None:
    with OperatorClient(url, seeded.token) as operator:
        capabilities = Capabilities(cores=1, memory_bytes=1, machine="m", agent="a")
        token = operator.enrolment_token()
        enrol = Enrol(protocol=PROTOCOL, token=token, name="kiosk", capabilities=capabilities)
        answer = httpx.post(f"{url}/device/v1/enrol", content=msgspec.json.encode(enrol), timeout=WAIT_S)
        enrolled = msgspec.json.decode(answer.content, type=Enrolled)

        address = f"{url.replace('http', 'ws', 1)}/device/v1/socket"
        with connect(address, additional_headers={"Authorization": f"Bearer {enrolled.credential}"}) as device:
            processes.shell(WAKE.format(device=enrolled.device))
            text = device.recv(timeout=WAIT_S)
            assert isinstance(text, str)
            assert decode_platform_frame(text.encode()) == Wake()
            _check_console_follows_other_processes(processes, url, seeded.token, enrolled.device)
            operator.post(f"/devices/{enrolled.device}/revoke/")
            with pytest.raises(ConnectionClosed) as closed:
                device.recv(timeout=WAIT_S)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "fleet.revoked")


@pytest.mark.long
def test_a_web_process_that_ends_tells_its_devices_when_to_connect_again(
    seeded: Seeded, settings: dict[str, str], processes: Processes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        web = processes.start("coterie", "serve", "--fd", str(listener.fileno()), pass_fds=(listener.fileno(),))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with OperatorClient(url, seeded.token) as operator:
        device = ScriptedDevice(url, operator.enrolment_token(), "kiosk-2")
    address = f"{url.replace('http', 'ws', 1)}/device/v1/socket"
    with connect(address, additional_headers={"Authorization": f"Bearer {device.credential}"}) as open_:
        assert httpx.get(f"{url}/readyz", timeout=WAIT_S).status_code == 200
        web.terminate()
        with pytest.raises(ConnectionClosed) as closed:
            open_.recv(timeout=WAIT_S)
    device.close()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
        SERVICE_RESTART,
        close_reason(1 / CONNECTS_PER_SECOND),
    )
    web.wait(WAIT_S)


def _check_console_follows_other_processes(processes: Processes, url: str, token: str, device: str) -> None:
    address = f"{url.replace('http', 'ws', 1)}/console/v1/socket"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as console:
        console.send(msgspec.json.encode(Hello(devices=(device,))).decode())
        known = apply({}, msgspec.json.decode(console.recv(timeout=WAIT_S), type=AnyServerFrame))
        assert known["device", device].name == "kiosk"
        processes.shell(RENAME.format(device=device))
        while known["device", device].name != "hall":
            known = apply(known, msgspec.json.decode(console.recv(timeout=WAIT_S), type=AnyServerFrame))


@pytest.mark.long
def test_who_guesses_passwords_has_to_wait(url: str) -> None:
    with httpx.Client(base_url=url, auth=("ada", "guessed"), timeout=WAIT_S) as guesser:
        # Where Redis is slow to answer, an attempt is counted in the process, so that some more may be let through.
        answers = [guesser.get("/api/tokens/") for _ in range(2 * WRONG_ALLOWED + 1)]
    assert {answer.status_code for answer in answers[:WRONG_ALLOWED]} == {401}
    assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "accounts.too_many_attempts")


def test_round_ends_once_though_the_worker_is_killed_while_it_merges(
    settings: dict[str, str], seeded: Seeded, url: str, processes: Processes
) -> None:
    processes.start(*CELERY, "beat", "--schedule", str(processes.directory / "schedule"))
    worker = processes.start(*CELERY, "worker", "--concurrency", "2")
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
            state = "SELECT state FROM merging_merge WHERE lease_until IS NOT NULL"
            eventually(lambda: database.execute(state).fetchone() == ("running",), every_s=0.002)
        kill_with_children(worker)
        assert operator.round(federation, 1)["state"] == "merging"
        processes.start(*CELERY, "worker", "--pool", "threads", "--loglevel", "INFO")
        round_ = operator.ended_round(federation, 1, within_s=60)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", DEVICES)
        assert [version["number"] for version in operator.list("/versions/", pair=seeded.pairs[0])] == [2, 1]
        assert httpx.get(f"{url}/healthz").status_code == 200
    sweeps = [line for line in processes.log("celery").read_text().splitlines() if "rounds.tasks.sweep" in line]
    assert any("succeeded" in line for line in sweeps), "a worker performs the sweep that beat sends"
