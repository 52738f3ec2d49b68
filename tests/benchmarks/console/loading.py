"""The first load of the overview: bytes as they travel, and when the browser first shows something."""

import statistics
from collections import Counter
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.benchmarks.console.visitor import Visitor
from tests.benchmarks.report import Figure
from tests.console.first_load import LARGEST_KB, open_overview

TIMES = 7
FIRST_PAINT_MS = 1000
LINKS = {
    "same machine": None,
    # What Lighthouse applies to a desktop.
    "40 ms, 10 Mbit/s": {"latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8},
}
ENCODINGS = {"brotli, as over HTTPS": "gzip, deflate, br", "gzip, as over plain HTTP": "gzip, deflate"}


def load_figures(visitor: Visitor) -> Iterator[Figure]:
    """Bytes by kind, and paints by the link."""
    for words, accepted in ENCODINGS.items():
        yield from _sizes(visitor, words, accepted)
    for words, link in LINKS.items():
        yield from _paints(visitor, words, link)


def _sizes(visitor: Visitor, case: str, accepted: str) -> Iterator[Figure]:
    with visitor.new_page(extra_http_headers={"Accept-Encoding": accepted}) as page:
        fetched = open_overview(page)
    sizes: Counter[str] = Counter()
    for one in fetched:
        sizes[one.kind] += one.size_bytes
    total_kb = sizes.total() / 1000
    yield Figure(
        case,
        "first load of the overview, compressed bodies",
        total_kb,
        "kB",
        against=f"target <= {LARGEST_KB} kB",
        ratio=LARGEST_KB / total_kb,
    )
    for kind, size in sizes.most_common():
        yield Figure(case, f"of these {kind}", size / 1000, "kB")


def _paints(visitor: Visitor, case: str, link: dict[str, float] | None) -> Iterator[Figure]:
    paints = [_painted(visitor, link) for _ in range(TIMES)]
    for metric, column, target in (
        ("first contentful paint", 0, FIRST_PAINT_MS),
        ("largest contentful paint", 1, None),
    ):
        values = [paint[column] for paint in paints]
        for name, value in ((f"median of {TIMES}", statistics.median(values)), ("worst", max(values))):
            against = None if target is None else f"target <= {target} ms"
            ratio = None if target is None else target / value
            yield Figure(case, f"{metric}, {name}", value, "ms", against=against, ratio=ratio)


def _painted(visitor: Visitor, link: dict[str, float] | None) -> tuple[float, float]:
    with visitor.new_page() as page:
        if link is not None:
            _slow_down(page, link)
        open_overview(page)
        first_ms, largest_ms = page.evaluate("watch.paints()")
    return first_ms, largest_ms


def _slow_down(page: Page, link: dict[str, float]) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {"offline": False, **link})
