"""Figures of the platform as a whole, from the database: exported by one process, the active beat.

Each process exports whether the database answers it: while it does not answer, no beat is active.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min, QuerySet, Sum
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis, RedisError

from coterie.cloud_training.models import TrainingJob
from coterie.core.metrics import REGISTRY
from coterie.fleet.counting import latest_count
from coterie.fleet.models import Device
from coterie.gateway.outage import UNANSWERED, probe_database
from coterie.registry.models import Blob
from coterie.rounds.models import Round

KEPT_S = 15.0
"""Seconds between two queries, however often figures are requested."""
BROKER_S = 2.0
"""How long the broker may take to answer."""


class PlatformFigures(Collector):
    """Whether the database answers, and gauges of the whole platform where `shown` returns true in this process."""

    def __init__(self, shown: Callable[[], bool]) -> None:
        self._shown = shown
        self._lock = threading.Lock()
        self._kept: list[Metric] = []
        self._kept_whole = False
        self._read_at = float("-inf")

    def collect(self) -> Iterator[Metric]:
        """The figures, at most `KEPT_S` old; none while the database does not answer."""
        whole = self._shown()
        yield GaugeMetricFamily("coterie_leader", "Whether this process sends periodic work.", value=float(whole))
        with self._lock:
            if whole != self._kept_whole or time.monotonic() - self._read_at > KEPT_S:
                self._kept, self._kept_whole, self._read_at = _read(whole=whole), whole, time.monotonic()
            yield from self._kept

    def describe(self) -> list[Metric]:
        """Nothing before the first request: the database may be away while the process starts."""
        return []


def show_figures(shown: Callable[[], bool]) -> None:
    """Add them to this process's metrics."""
    REGISTRY.register(PlatformFigures(shown))


def _read(*, whole: bool) -> list[Metric]:
    answers = GaugeMetricFamily("coterie_database_answers", "Whether the database answers this process.", value=1)
    try:
        probe_database()
        return [answers, *_figures(datetime.now(UTC)), *_waiting_tasks()] if whole else [answers]
    except (*UNANSWERED, DatabaseError):
        return [GaugeMetricFamily(answers.name, answers.documentation, value=0)]
    finally:
        connection.close()


def _figures(now: datetime) -> Iterator[Metric]:
    yield _by_state("coterie_devices", "Devices by state.", Device.objects.all())
    yield GaugeMetricFamily(
        "coterie_devices_present", "Enrolled devices that checked in lately or hold a socket.", value=latest_count()
    )
    yield _by_state("coterie_rounds", "Rounds by state.", Round.objects.all())
    oldest = Round.objects.filter(state__in=Round.ACTIVE).aggregate(at=Min("reason_at"))["at"]
    yield GaugeMetricFamily(
        "coterie_round_waiting_seconds",
        "How long the active round that has waited longest has been in its state.",
        value=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
    )
    yield _by_state("coterie_training_jobs", "Jobs of cloud training by state.", TrainingJob.objects.all())
    kept = Blob.objects.filter(removed_at=None)
    yield GaugeMetricFamily(
        "coterie_blob_bytes", "Of stored models and data.", value=kept.aggregate(size=Sum("size_bytes"))["size"] or 0
    )
    yield GaugeMetricFamily(
        "coterie_damaged_blobs",
        "Stored files that are lost or damaged and have no copy.",
        value=kept.filter(damaged_at__isnull=False).count(),
    )


def _waiting_tasks() -> Iterator[Metric]:
    """Empty while the broker does not answer, and in embedded mode, whose tasks wait in the server's memory."""
    if settings.EMBEDDED:
        return
    address, queue = settings.CELERY_BROKER_URL, current_app.conf.task_default_queue
    with (
        suppress(RedisError),
        Redis.from_url(address, socket_timeout=BROKER_S, socket_connect_timeout=BROKER_S) as broker,
    ):
        yield GaugeMetricFamily(
            "coterie_tasks_waiting", "Background tasks that no worker has taken yet.", value=float(broker.llen(queue))
        )


def _by_state(name: str, says: str, rows: "QuerySet[Device] | QuerySet[Round] | QuerySet[TrainingJob]") -> Metric:
    family = GaugeMetricFamily(name, says, labels=["state"])
    for state, count in rows.order_by().values_list("state").annotate(count=Count("pk")):
        family.add_metric([state], count)
    return family
