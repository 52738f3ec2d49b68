"""Processes that share a database, a broker and an object storage, and no file system: any of them may be killed."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import msgspec
import psutil
import psycopg
import pytest

from coterie.config.leader import LOCK_NUMBER
from coterie_agent.link.http import HttpLink
from coterie_wire.bundle import Manifest, SignedManifest
from tests.object_storage import swift
from tests.object_storage.broken_line import BrokenLine
from tests.system.cluster import Cluster
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.processes import kill_with_children, prepare_state
from tests.system.scaled import SCALED
from tests.system.scripted_device import ScriptedDevice

pytestmark = [
    *SCALED,
    pytest.mark.skipif(not swift.is_installed(), reason="no Swift: make test-object-storage installs it"),
]
DEVICES = 3
EMPTY = """
from coterie.rounds.files import UPLOADS
assert UPLOADS.keys() == set(), UPLOADS.keys()
"""
HEALTHY = """
import time
from coterie.config.doctor import examine
ends_at = time.monotonic() + 60  # beat was killed a moment ago
while (found := {one.about: one for one in examine() if one.state == "wrong"}) and time.monotonic() < ends_at:
    time.sleep(2)
assert not found, found
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokenLine]:
    """To the object storage, for all but devices."""
    with swift.running(tmp_path_factory.mktemp("swift")) as server, BrokenLine(server.url) as line:
        yield line


@pytest.fixture
def cluster(database: str, broker: str, line: BrokenLine, tmp_path: Path) -> Iterator[Cluster]:
    settings = {
        "mode": "scaled",
        "database_url": database,
        "redis_url": broker,
        "secret_key": secrets.token_hex(32),
        "signing_key": secrets.token_hex(32),
        "s3_bucket": swift.BUCKET,
        "s3_prefix": secrets.token_hex(8),
        "s3_endpoint": line.url,
        "s3_region": swift.REGION,
        "s3_key_id": swift.KEY_ID,
        "s3_secret": swift.SECRET,
        "downloads": "presigned",
    }
    with ExitStack() as running:
        yield Cluster(settings, tmp_path, running)


def test_a_round_survives_its_processes(cluster: Cluster, line: BrokenLine, tmp_path: Path) -> None:
    seeded = prepare_state(tmp_path / "seed", pairs=1, **cluster.settings, state=str(tmp_path / "seed" / "state"))
    first, second = cluster.web(), cluster.web()
    beats = [cluster.beat().process, cluster.beat().process]
    worker = cluster.worker()
    with ExitStack() as open_:
        operator = open_.enter_context(OperatorClient(second.url, seeded.token))
        pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}
        federation = operator.start_federation(
            "cluster", pair=seeded.pairs[0], plan={"pace": pace}, held_out=seeded.held_out, rounds_wanted=1
        )
        token = operator.enrolment_token(tag="cluster", uses=DEVICES)
        devices = [ScriptedDevice(first.url, token, f"device-{number}") for number in range(DEVICES)]
        for device in devices:
            open_.callback(device.close)
            device.check_in()
        assignments = [device.assignment(1) for device in devices]

        _check_download(first.url, devices[0], _parameters(assignments[0].manifest))

        sent = [payload(number) for number in range(DEVICES)]
        device, assignment = devices[0], assignments[0].assignment
        device.offer(assignment, sent[0])
        device.send(assignment, sent[0][:500], 0)
        first.kill()
        for each in devices:
            each.http.base_url = httpx.URL(f"{second.url}/device/v1")
        assert device.offer(assignment, sent[0]).offset == 500

        line.break_all("error")
        answer = device.http.patch(f"/uploads/{assignment}", content=sent[0][500:], headers={"Upload-Offset": "500"})
        assert (answer.status_code, answer.json()["code"]) == (503, "storage.unavailable")
        assert "Retry-After" in answer.headers
        line.mend()

        with psycopg.connect(cluster.settings["database_url"], autocommit=True) as database:
            leader = _leader(database, beats)
            kill_with_children(leader)
            assert eventually(lambda: _leader(database, [beat for beat in beats if beat != leader])) != leader
        worker.kill()
        for each, offered, content in zip(devices, assignments, sent, strict=True):
            each.deliver(offered.assignment, content)
        cluster.worker()
        round_ = operator.ended_round(federation, 1, within_s=90)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", DEVICES)
    cluster.machine().shell(EMPTY)
    cluster.machine().shell(HEALTHY)


def _parameters(signed: SignedManifest) -> str:
    return msgspec.json.decode(signed.manifest, type=Manifest).parameters.sha256


def _check_download(url: str, device: ScriptedDevice, sha256: str) -> None:
    """The storage sends it, and is not told the device's credential."""
    answer = httpx.get(
        f"{url}/device/v1/blobs/{sha256}",
        headers={"Authorization": f"Bearer {device.credential}", "Prefer": "presigned"},
        timeout=30,
    )
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (307, "presigned")
    through = device.http.get(f"/blobs/{sha256}")
    assert through.status_code == 200, "who does not say so is served as ever"
    link = HttpLink(url, credential=device.credential, record_sent=lambda _what, _size: None)
    assert b"".join(link.download(sha256, 0)) == through.content
    assert b"".join(link.download(sha256, 1000)) == through.content[1000:]


def _leader(database: "psycopg.Connection[tuple[int]]", beats: list[psutil.Process]) -> psutil.Process:
    """The beat whose session holds the lock."""
    high, low = LOCK_NUMBER >> 32, LOCK_NUMBER & 0xFFFFFFFF
    query = (
        "SELECT client_port FROM pg_locks JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted"
    )

    def look() -> psutil.Process | None:
        for (port,) in database.execute(query, [high, low]).fetchall():
            for beat in beats:
                if any(each.laddr and each.laddr.port == port for each in beat.net_connections()):
                    return beat
        return None

    return eventually(look)
