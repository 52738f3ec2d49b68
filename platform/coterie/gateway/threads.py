"""Blocking work of the event loop: a bounded number of threads, each of which keeps its database connection open.

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
ANONYMOUS_THREADS = 2
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")
_anonymous_pool = ThreadPoolExecutor(ANONYMOUS_THREADS, thread_name_prefix="anonymous")
_storing = ThreadPoolExecutor(THREADS, thread_name_prefix="storing")


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, run on a thread that may block and use the database."""
    return await asyncio.get_running_loop().run_in_executor(_pool, copy_context().run, _with_thread_connection, work)


async def in_anonymous_thread(work: Callable[[], T]) -> T:
    """The same for unauthenticated senders, on few threads: however many guess, known devices do not wait for them."""
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_anonymous_pool, context.run, _with_thread_connection, work)


async def blocking(work: Callable[[], T]) -> T:
    """The same for work on stored bytes only, on separate threads: no check-in waits for a slow storage."""
    return await asyncio.get_running_loop().run_in_executor(_storing, work)


class _ThreadConnection(threading.local):
    suspicions = 0
    """What `WATCH` counted when this thread's connection was last known to be good."""


_thread_connection = _ThreadConnection()


def _with_thread_connection(work: Callable[[], T]) -> T:
    if _thread_connection.suspicions != WATCH.suspicions:  # another thread's was broken
        _thread_connection.suspicions = WATCH.suspicions
        connection.close()
    try:
        return metered(work)
    finally:
        # An error of the database may mean that the connection is gone.
        if connection.errors_occurred:
            connection.close()
