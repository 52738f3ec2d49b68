"""Threads keep their connection to the database, unless something went wrong on it."""

import asyncio
from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection
from django.db.backends.signals import connection_created

from coterie.gateway.threads import THREADS, in_thread

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opened() -> Iterator[list[object]]:
    """Grows by one with each connection that is opened."""
    found: list[object] = []

    def note(connection: object, **_: object) -> None:
        found.append(connection)

    connection_created.connect(note)
    yield found
    connection_created.disconnect(note)


def look() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def fail() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


async def test_work_after_work_uses_the_same_connections(opened: list[object]) -> None:
    for _ in range(4):
        await asyncio.gather(*(in_thread(look) for _ in range(THREADS)))
    assert len(opened) <= THREADS


async def test_a_connection_that_failed_is_not_used_again(opened: list[object]) -> None:
    for _ in range(3 * THREADS):
        with pytest.raises(DatabaseError):
            await in_thread(fail)
    assert len(opened) >= 2 * THREADS, "each thread may have had one before"
