"""A worker's connection to a Redis that goes away while a task is under way."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
from kombu import Connection, Exchange, Queue
from kombu.common import ignore_errors

from tests.system.line import Line
from tests.system.scaled import REDIS, SCALED

pytestmark = SCALED
NAME = "test-of-a-lost-connection"


@pytest.fixture
def left_clean() -> Iterator[None]:
    yield
    with redis.Redis.from_url(REDIS) as client:
        client.delete(*client.keys(f"*{NAME}*"))


@pytest.mark.usefixtures("left_clean")
def test_a_connection_that_was_lost_during_a_task_is_closed_without_an_error() -> None:
    with Line(6379) as line:
        address = f"redis://127.0.0.1:{line.port}/0"
        connection = Connection(address, transport="coterie.config.redis_transport.Transport")
        taken: list[object] = []
        told = Queue(
            f"{NAME}-told", Exchange(f"{NAME}-told", type="fanout"), auto_delete=True
        )  # as each worker has one
        queues = [Queue(NAME, auto_delete=True), told]
        consumer = connection.Consumer(queues, callbacks=[lambda _, message: taken.append(message)])
        consumer.consume()
        connection.Producer().publish({}, routing_key=NAME)
        while not taken:
            connection.drain_events(timeout=5)
        with suppress(TimeoutError):
            connection.drain_events(timeout=0.01)  # waits for the next one, as a worker does
        line.cut()
        with suppress(*connection.connection_errors):
            connection.collect()
        ignore_errors(connection, connection.close)
