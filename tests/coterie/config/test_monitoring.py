"""Each query of the shipped dashboard and alerts names what a scraped platform shows; the runbooks exist."""

import asyncio
import hashlib
from collections.abc import Iterator

import httpx
import pytest
import yaml
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from coterie.cloud_training.models import TrainingJob
from coterie.config.monitoring.endpoint import watched
from coterie.config.monitoring.figures import PlatformFigures
from coterie.config.monitoring.liveness import Liveness
from coterie.core import metrics
from coterie.fleet.tasks import count
from coterie.gateway.asgi import in_front_of
from coterie.gateway.door.body import Receive
from coterie.gateway.http import Scope, Send, reply
from coterie.storage.interface import StorageUnavailable
from tests.coterie.world import fleet_of, make_federation, make_pair, make_version
from tests.deploy.queries import DEPLOY, OF_PROMETHEUS, asked

Shown = dict[str, set[str]]
"""The labels of each metric."""


@pytest.fixture
def leading() -> Iterator[None]:
    figures = PlatformFigures(lambda: True)
    metrics.REGISTRY.register(figures)
    yield
    metrics.REGISTRY.unregister(figures)


def scraped(url: str) -> Shown:
    answer = httpx.get(f"{url}/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    shown: Shown = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            shown.setdefault(sample.name, set()).update(sample.labels)
    return shown


async def site(_scope: Scope, _receive: Receive, send: Send) -> None:
    await reply(send)


async def ask() -> None:
    transport = httpx.ASGITransport(in_front_of(site))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/") as http:
        answer = await http.post("device/v1/check-in", content=b"{}", headers={"Authorization": "Bearer device-0"})
        assert len(answer.headers["X-Request-Id"]) == 16
        await http.get("device/v1/blobs/x", headers={"Authorization": "Bearer device-0"})
        await http.get("healthz")


@pytest.mark.django_db(transaction=True)
def test_every_query_asks_for_what_is_shown(leading: None) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=1)
    TrainingJob.objects.create(kind=TrainingJob.Kind.PREFLIGHT, pair=pair, created_at=timezone.now())
    (device,) = fleet_of(1)
    now = timezone.now()
    directive = device.check_in(now)
    assert directive.assignment is not None
    count()
    async_to_sync(ask)()
    metrics.SOCKET_MESSAGES.labels("check-in", "answered").inc()
    metrics.CLOUD_ANSWERS.labels("refused").inc()
    port = watched(Liveness(), host="127.0.0.1", port=0)
    shown = scraped(f"http://127.0.0.1:{port}")
    wrong = [
        (each.metric, each.query)
        for each in asked()
        if each.metric not in shown
        or not each.labels - OF_PROMETHEUS <= shown[each.metric] | _of_others(each.query, shown)
    ]
    assert wrong == []
    secret = hashlib.sha256(b"device-0").hexdigest()
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    assert str(device.row.pk) not in text and "device-0" not in text and secret not in text


def _of_others(query: str, shown: Shown) -> set[str]:
    """A query of two metrics groups each by labels of its own."""
    return set().union(*(shown.get(each.metric, set()) for each in asked() if each.query == query))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("acts", [True, False], ids=["the beat that acts", "another process"])
def test_each_process_shows_that_the_database_does_not_answer(acts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> dict[str, float]:
        found = PlatformFigures(lambda: acts).collect()
        return {sample.name: sample.value for one in found for sample in one.samples}

    assert shown()["coterie_database_answers"] == 1
    assert ("coterie_devices_present" in shown()) == acts

    def refuse() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("coterie.config.monitoring.figures.probe_database", refuse)
    assert shown() == {"coterie_leader": acts, "coterie_database_answers": 0}


@pytest.mark.django_db(transaction=True)
def test_who_begins_to_act_shows_the_platform_at_once() -> None:
    acts = False
    figures = PlatformFigures(lambda: acts)
    assert "coterie_devices_present" not in {one.name for one in figures.collect()}
    acts = True
    assert "coterie_devices_present" in {one.name for one in figures.collect()}


def test_alerts_name_runbooks_that_there_are() -> None:
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"][0]["rules"]
    for rule in rules:
        assert (DEPLOY.parent / rule["annotations"]["runbook"]).is_file(), rule["alert"]


def test_a_failure_of_the_storage_is_counted() -> None:
    before = metrics.STORAGE_FAILURES._value.get()
    StorageUnavailable(problem="it is away")
    assert metrics.STORAGE_FAILURES._value.get() == before + 1


def test_a_process_that_does_nothing_is_said_to_be_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    life = Liveness()
    port = watched(life, host="127.0.0.1", port=0)
    assert httpx.get(f"http://127.0.0.1:{port}/livez").status_code == 200
    assert httpx.get(f"http://127.0.0.1:{port}/admin").status_code == 404
    monkeypatch.setattr("coterie.config.monitoring.liveness.SILENT_S", 0.0)
    assert httpx.get(f"http://127.0.0.1:{port}/livez").status_code == 503
    monkeypatch.setattr("coterie.config.monitoring.liveness.is_late", lambda _now: True)
    life.watch("task")
    assert httpx.get(f"http://127.0.0.1:{port}/livez").status_code == 200, "nobody sends it anything to do"


async def test_a_loop_that_turns_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    life = Liveness()
    life._shown_at -= 1000
    following = asyncio.create_task(life.follow_loop())
    await asyncio.sleep(0)
    assert not life.is_over()
    following.cancel()
