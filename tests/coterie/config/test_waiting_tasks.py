"""Scaled mode shows how many tasks wait, which autoscalers of the chart ask for."""

import secrets
from collections.abc import Iterator

import httpx
import pytest
from celery import current_app
from pytest_django import Settings
from redis import Redis

from coterie.config.monitoring.endpoint import watched
from coterie.config.monitoring.figures import PlatformFigures
from coterie.config.monitoring.liveness import Liveness
from coterie.core.metrics import REGISTRY
from tests.deploy.chart import rendered
from tests.system.scaled import REDIS, SCALED

pytestmark = [*SCALED, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def three_wait(settings: Settings) -> Iterator[None]:
    """In a queue of the test's own."""
    settings.EMBEDDED, settings.CELERY_BROKER_URL = False, f"{REDIS}/0"
    usual, queue = current_app.conf.task_default_queue, f"test-{secrets.token_hex(4)}"
    current_app.conf.task_default_queue = queue
    with Redis.from_url(settings.CELERY_BROKER_URL) as broker:
        broker.rpush(queue, "one", "two", "three")
        yield
        broker.delete(queue)
    current_app.conf.task_default_queue = usual


def waiting() -> list[float]:
    found = PlatformFigures(lambda: True).collect()
    return [sample.value for one in found for sample in one.samples if one.name == "coterie_tasks_waiting"]


def test_they_are_counted_while_the_broker_answers(settings: Settings) -> None:
    assert waiting() == [3.0]
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    assert waiting() == []


def test_embedded_mode_whose_tasks_are_in_memory_asks_nobody(settings: Settings) -> None:
    settings.EMBEDDED = True
    assert waiting() == []


def test_autoscalers_ask_for_what_is_shown() -> None:
    scalers = [
        metric
        for one in rendered(web__autoscaling__socketsEach=5000, worker__autoscaling__waitingEach=20)
        if one["kind"] == "HorizontalPodAutoscaler"
        for metric in one["spec"]["metrics"]
    ]
    asked = {metric[kind]["metric"]["name"] for metric in scalers for kind in metric.keys() & {"pods", "external"}}
    assert asked == {"coterie_device_sockets", "coterie_tasks_waiting"}
    figures = PlatformFigures(lambda: True)
    REGISTRY.register(figures)
    try:
        text = httpx.get(f"http://127.0.0.1:{watched(Liveness(), host='127.0.0.1', port=0)}/metrics").text
    finally:
        REGISTRY.unregister(figures)
    assert all(f"\n{name} " in text for name in asked)
