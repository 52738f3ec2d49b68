"""How long the lists of the REST API take with 100,000 devices in the tables, CSV tables, and a scrape of the metrics.

One program asks, one request after the other, of real processes of either mode; each list that the API describes is
asked for its first page. The fleet is that of ``coterie seed-fleet``, with weeks behind it.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import httpx

from tests.benchmarks.fleet.platforms import EMBEDDED, SCALED, UNLIMITED, Mode, Running
from tests.benchmarks.report import Figure
from tests.free_ports import free_port

DEVICES = int(os.environ.get("LISTS_DEVICES", "100000"))
TIMES = 20
SLOWEST = 5
"""Lists that are named."""
PAGE_MS = 100.0
CSV_S = 2.0
TENTH = "greenhouse"
"""Tag of every tenth device."""
OF_DEVICES = {
    "sorted by name": {"sort": "name"},
    "last seen first": {"sort": "-last_seen_at"},
    "the tenth page of 100": {"page": "10", "page_size": "100"},
    "ready": {"status": "ready"},
    "absent": {"status": "absent"},
    "of a tag": {"tag": TENTH},
    "found by a part of the name": {"search": "999"},
}
CSV_TIMES = 3
SCRAPES = 40
TIMEOUT_S = 300.0


def measure() -> Iterable[Figure]:
    """Half an hour, most of it for the tables."""
    for mode in (EMBEDDED, SCALED):
        yield from _figures(mode)


def _figures(mode: Mode) -> Iterator[Figure]:
    case, port = f"{mode.name}, {DEVICES:,} devices", free_port()
    with (
        tempfile.TemporaryDirectory() as directory,
        mode.start(
            Path(directory), ("seed_large_fleet", str(DEVICES)), metrics_port=str(port), **UNLIMITED
        ) as platform,
        httpx.Client(
            base_url=platform.url,
            headers={"Authorization": f"Bearer {platform.seeded.token}"},
            timeout=TIMEOUT_S,
        ) as client,
    ):
        yield from _pages(case, client, platform)
        yield from _tables(case, client)
        yield from _scrapes(case, f"http://127.0.0.1:{port}/metrics")
    yield Figure(case, "processes that wanted a core, over the last 15 minutes", os.getloadavg()[2], "")


def _pages(case: str, client: httpx.Client, platform: Running) -> Iterator[Figure]:
    asked: dict[str, tuple[str, Mapping[str, str]]] = {path: (path, {}) for path in _lists(client)}
    asked |= {f"/api/devices/, {name}": ("/api/devices/", query) for name, query in OF_DEVICES.items()}
    took, worked = dict[str, Sequence[float]](), dict[str, float]()
    for name, (path, query) in asked.items():
        client.get(path, params=query).raise_for_status()  # by which the process comes to know the list
        before_s = platform.processor_s()
        took[name] = _milliseconds(client, path, query)
        worked[name] = 1e3 * (platform.processor_s() - before_s) / TIMES
    every = [one for times in took.values() for one in times]
    for name, value in (("median", statistics.median(every)), ("p95", _p95(every))):
        yield _judged(case, f"a page of {len(took)} lists: {name}", value, "ms", PAGE_MS)
    for name in sorted(took, key=lambda name: -_p95(took[name]))[:SLOWEST]:
        yield _judged(case, f"{name}: p95", _p95(took[name]), "ms", PAGE_MS)
    yield Figure(case, "a page: processor, median of the lists", statistics.median(worked.values()), "ms")
    for name in sorted(worked, key=lambda name: -worked[name])[:SLOWEST]:
        yield Figure(case, f"{name}: processor", worked[name], "ms")


def _tables(case: str, client: httpx.Client) -> Iterator[Figure]:
    for query in ({"tag": TENTH}, {}):
        took, lines = [], 0
        for _ in range(CSV_TIMES if query else 1):
            before_s = time.perf_counter()
            answer = client.get("/api/devices/", params={"format": "csv", **query}).raise_for_status()
            took.append(time.perf_counter() - before_s)
            lines = answer.text.count("\n") - 1
        what = f"CSV of {lines:,} devices"
        if query:
            yield _judged(case, what, statistics.median(took), "s", CSV_S)
        else:
            yield Figure(case, what, took[0], "s")


def _scrapes(case: str, address: str) -> Iterator[Figure]:
    took = []
    with httpx.Client(timeout=TIMEOUT_S) as client:
        for _ in range(SCRAPES):
            before_s = time.perf_counter()
            client.get(address).raise_for_status()
            took.append(1e3 * (time.perf_counter() - before_s))
            time.sleep(1)
    yield Figure(case, "a scrape of the metrics: median", statistics.median(took), "ms")
    yield Figure(case, "a scrape that asks the database, each 15 s: slowest", max(took), "ms")


def _lists(client: httpx.Client) -> Sequence[str]:
    """Those that the API describes, of no one thing."""
    schema = client.get("/api/schema/", params={"format": "json"}).raise_for_status().json()
    found = []
    for path, methods in schema["paths"].items():
        parameters = {parameter["name"] for parameter in methods.get("get", {}).get("parameters", ())}
        if "page" in parameters and "{" not in path:
            found.append(path)
    return sorted(found)


def _milliseconds(client: httpx.Client, path: str, query: Mapping[str, str]) -> Sequence[float]:
    took = []
    for _ in range(TIMES):
        before_s = time.perf_counter()
        client.get(path, params=query).raise_for_status()
        took.append(1e3 * (time.perf_counter() - before_s))
    return took


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _judged(case: str, metric: str, value: float, unit: str, most: float) -> Figure:
    return Figure(case, metric, value, unit, f"target <= {most:g} {unit}", most / value)


PARTS = {mode.name: partial(_figures, mode) for mode in (EMBEDDED, SCALED)}
