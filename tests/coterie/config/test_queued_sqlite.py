"""Writers take turns in the order in which they came, and nobody finds the database locked."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.utils import timezone

from coterie.config.queued_sqlite.base import TURNS
from coterie.config.queued_sqlite.turns import Turns
from coterie.core.resting import CHANGES, unremarkable
from coterie.fleet.models import PresenceKept
from coterie.registry.models import Blob
from tests.system.eventually import eventually

WAIT_S = 10.0
WRITERS = 8


def test_turns_go_to_who_has_waited_longest() -> None:
    turns, order = Turns(), []
    assert turns.take(within_s=0)

    def ask(number: int) -> None:
        assert turns.take(within_s=WAIT_S)
        order.append(number)
        turns.give()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=ask, args=(number,)))
        threads[-1].start()
        eventually(lambda: turns.count_waiting() == len(threads))
    assert not turns.take(within_s=0)
    turns.give()
    for thread in threads:
        thread.join(WAIT_S)
    assert order == list(range(5))
    assert turns.take(within_s=0)


@pytest.fixture
def sqlite(transactional_db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("of embedded mode")


def blob(number: int) -> Blob:
    return Blob(sha256=f"{number:064x}", size_bytes=1, created_at=timezone.now())


@pytest.mark.parametrize(
    "write",
    [
        lambda: blob(1).save(force_insert=True),
        lambda: Blob.objects.bulk_create([blob(1), blob(2)]),
        lambda: Blob.objects.update(size_bytes=2),
    ],
)
def test_a_writer_waits_for_the_transaction_of_another(sqlite: None, write: Callable[[], object]) -> None:
    def in_a_thread() -> None:
        try:
            write()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            blob(0).save(force_insert=True)
            waiting = pool.submit(in_a_thread)
            eventually(lambda: TURNS.count_waiting() == 1)
            assert Blob.objects.count() == 1  # reading waits for nobody
        waiting.result(WAIT_S)
    assert not Blob.objects.filter(sha256=f"{0:064x}", size_bytes=0).exists()


@pytest.mark.parametrize("broken", [False, True])
def test_the_turn_goes_on_whatever_becomes_of_a_transaction(sqlite: None, broken: bool) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        blob(0).save(force_insert=True)
        if broken:
            connection.close()
        raise ZeroDivisionError
    assert not TURNS.count_waiting()
    assert TURNS.take(within_s=0)
    TURNS.give()


def test_many_writers_at_once_all_get_their_turn(sqlite: None) -> None:
    def write(writer: int) -> None:
        try:
            for number in range(20):
                with transaction.atomic():
                    count = Blob.objects.count()
                    blob(1000 * writer + number).save(force_insert=True)
                    assert Blob.objects.count() == count + 1
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    assert Blob.objects.count() == 20 * WRITERS


def inserted() -> None:
    blob(1).save(force_insert=True)


def inserted_returning() -> None:
    PresenceKept.objects.bulk_create(
        [PresenceKept(since=timezone.now())], update_conflicts=True, unique_fields=["id"], update_fields=["since"]
    )
    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_blob SET size_bytes = 3 RETURNING sha256")
        cursor.fetchall()


def together() -> None:
    with transaction.atomic():
        Blob.objects.count()
        inserted()
        Blob.objects.update(size_bytes=2)


def changed_nothing() -> None:
    Blob.objects.filter(size_bytes=99).update(size_bytes=2)
    Blob.objects.filter(size_bytes=99).delete()
    with transaction.atomic():
        list(Blob.objects.select_for_update())


def taken_back() -> None:
    with suppress(ZeroDivisionError), transaction.atomic():
        inserted()
        raise ZeroDivisionError


def told_anew() -> None:
    with unremarkable(), transaction.atomic():
        Blob.objects.update(size_bytes=2)


@pytest.mark.parametrize(
    ("write", "counts"),
    [
        (inserted, True),
        (inserted_returning, True),
        (together, True),
        (changed_nothing, False),
        (taken_back, False),
        (told_anew, False),
    ],
)
def test_what_is_committed_counts_as_a_change(sqlite: None, write: Callable[[], None], counts: bool) -> None:
    blob(0).save(force_insert=True)
    before = CHANGES.count
    write()
    assert (CHANGES.count > before) is counts


def test_a_change_counts_when_it_is_committed(sqlite: None) -> None:
    before = CHANGES.count
    with transaction.atomic():
        inserted()
        assert CHANGES.count == before
    assert CHANGES.count == before + 1
