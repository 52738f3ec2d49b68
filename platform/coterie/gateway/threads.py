"""Blocking work of the event loop: a bounded number of threads, each of which gives its database connection back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import close_old_connections

T = TypeVar("T")

THREADS = 8
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises, run where it may block and use the database."""
    return await asyncio.get_running_loop().run_in_executor(_pool, _with_fresh_connection, work)


async def blocking(work: Callable[[], T]) -> T:
    """The same for work on files alone."""
    return await asyncio.get_running_loop().run_in_executor(_pool, work)


def _with_fresh_connection(work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
