"""Blocking work of the event loop: a bounded number of threads, each of which keeps its database connection.

Opening one for each piece of work costs more than most of the work does, and SQLite writes its whole log back whenever
its last connection closes.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from django.db import connection

from coterie.gateway.door.requester import metered
from coterie.gateway.outage import WATCH

T = TypeVar("T")

THREADS = 8
STRANGERS_THREADS = 2
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")
_for_strangers = ThreadPoolExecutor(STRANGERS_THREADS, thread_name_prefix="strangers")
_storing = ThreadPoolExecutor(THREADS, thread_name_prefix="storing")


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises, run where it may block and use the database."""
    return await asyncio.get_running_loop().run_in_executor(_pool, copy_context().run, _with_kept_connection, work)


async def for_stranger(work: Callable[[], T]) -> T:
    """The same for who is not known yet, on few threads: however many guess, no device that is known waits for them."""
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_for_strangers, context.run, _with_kept_connection, work)


async def blocking(work: Callable[[], T]) -> T:
    """The same for work on stored bytes alone, in threads of its own: no check-in waits for a slow storage."""
    return await asyncio.get_running_loop().run_in_executor(_storing, work)


class _Kept(threading.local):
    suspicions = 0
    """What `WATCH` counted when this thread's connection was last known to be good."""


_kept = _Kept()


def _with_kept_connection(work: Callable[[], T]) -> T:
    if _kept.suspicions != WATCH.suspicions:  # the connection of another thread was broken, so this one may be, too
        _kept.suspicions = WATCH.suspicions
        connection.close()
    try:
        return metered(work)
    finally:
        # An error of the database may mean that the connection is gone.
        if connection.errors_occurred:
            connection.close()
