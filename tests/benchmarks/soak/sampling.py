"""Looks at all that a platform holds: memory, descriptors, threads, rows, files, keys, connections."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Self

import msgspec
import psutil
import psycopg
import redis

from tests.benchmarks.soak.processes import Soaked

MEBIBYTE = 1 << 20
KEYS_AT_ONCE = 1000
HISTORY = frozenset(
    {
        "audit_entry",
        "exports_exported",
        "merging_merge",
        "merging_update",
        "registry_blob",
        "registry_modelversion",
        "rounds_round",
    }
)
"""Tables in which rows stay for ever, so many for each round: how a version came to be, and who had a part in it."""
SIZES = """
SELECT 'table', relname, pg_total_relation_size(relid) FROM pg_stat_user_tables
UNION ALL SELECT 'index', indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes
"""
"""Of tables with their indexes, and of each index, with what is free in them."""


class Sample(msgspec.Struct, frozen=True):
    """What was there at a moment."""

    at_s: float
    """Since the load began."""
    values: dict[str, float]
    """By name; the words before the first colon say what is counted, in which unit."""


class Sampler:
    """Takes samples; what it opens itself is a connection to PostgreSQL and one to Redis."""

    def __init__(self, platform: Soaked) -> None:
        self._platform = platform
        self._opened = ExitStack()
        self._tables = self._opened.enter_context(psycopg.connect(platform.database, autocommit=True))
        self._keys = self._opened.enter_context(closing(redis.Redis.from_url(platform.broker)))
        with self._tables.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        ) as found:
            names = [str(name) for (name,) in found]
        self._count = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def sample(self) -> Sample:
        """One. Raises psutil.NoSuchProcess where a process has ended."""
        at_s = time.monotonic() - self._began_s
        found = (*self._of_processes(), *self._of_postgresql(), *self._of_redis(), *self._of_files())
        return Sample(round(at_s, 1), dict(found))

    def _of_processes(self) -> Iterator[tuple[str, float]]:
        for name, process in self._platform.processes.items():
            times = process.cpu_times()
            yield f"memory, MiB: {name}", process.memory_info().rss / MEBIBYTE
            yield f"file descriptors: {name}", process.num_fds()
            yield f"threads: {name}", process.num_threads()
            yield f"processor, s: {name}", times.user + times.system + times.children_user + times.children_system

    def _of_postgresql(self) -> Iterator[tuple[str, float]]:
        name = self._platform.database.rpartition("/")[2]
        own = self._tables.info.backend_pid
        backends = self._tables.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> %s AND backend_type = 'client backend'",
            [name, own],
        ).fetchall()
        yield "connections: PostgreSQL", len(backends)
        yield "memory, MiB: connections of PostgreSQL", sum(_own_bytes(pid) for (pid,) in backends) / MEBIBYTE
        for size in self._tables.execute("SELECT pg_database_size(%s)", [name]).fetchall():
            yield "bytes, MiB: database", size[0] / MEBIBYTE
        for table, count in self._tables.execute(self._count).fetchall():
            yield f"rows: {table}", count
        for kind, name, size_bytes in self._tables.execute(SIZES).fetchall():
            yield f"bytes, MiB: {kind} {name}", size_bytes / MEBIBYTE

    def _of_redis(self) -> Iterator[tuple[str, float]]:
        keys = list(self._keys.scan_iter(count=KEYS_AT_ONCE))
        with self._keys.pipeline(transaction=False) as asking:
            for key in keys:
                asking.memory_usage(key)
            sizes = asking.execute()
        yield "keys: Redis", len(keys)
        yield "bytes, MiB: Redis", sum(size or 0 for size in sizes) / MEBIBYTE

    def _of_files(self) -> Iterator[tuple[str, float]]:
        folders = {folder.name: folder for folder in sorted(self._platform.state.iterdir()) if folder.is_dir()}
        for name, folder in {**folders, "temporary": self._platform.scratch, "log": self._platform.logs}.items():
            sizes = list(_sizes(folder))
            yield f"files: {name}", len(sizes)
            yield f"bytes, MiB: {name}", sum(sizes) / MEBIBYTE


def processor_s(values: Mapping[str, float]) -> float:
    """What the platform's processes have taken since they began."""
    return sum(value for name, value in values.items() if name.startswith("processor"))


def _own_bytes(pid: int) -> int:
    """Of a process, what it shares with none; one that has ended meanwhile takes nothing."""
    with suppress(psutil.NoSuchProcess):
        return int(psutil.Process(pid).memory_full_info().uss)
    return 0


def _sizes(top: Path) -> Iterator[int]:
    """Of the files below a folder of a platform that goes on working."""
    for folder, _, names in os.walk(top):
        for name in names:
            with suppress(FileNotFoundError):
                yield Path(folder, name).lstat().st_size
