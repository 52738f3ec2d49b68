"""Whether two devices behind address translators reach each other, how, how soon, and how quickly over a poor line.

Network namespaces with nftables, so for root on Linux. What cannot be fetched directly comes by a server that stands in
for the platform. TCP brings the same bytes over the same line to that server, by the machine's own congestion control.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.report import Figure
from tests.nat.network import PAIRS, is_meetable, why_not_here
from tests.nat.pairs import fetch, upload_s

TIMES = 3
SIZE_BYTES, LARGE_BYTES = 300_000, 4_000_000
LINES = ((0.1, 0.0), (25.0, 0.0), (25.0, 0.01), (50.0, 0.01))
"""Milliseconds each way, and share of packets that are lost."""


def measure() -> list[Figure]:
    why = why_not_here()
    if why:
        raise SystemExit(f"benchmark nat: {why}")
    return [*_pairs(), *_lines()]


def _pairs() -> Iterator[Figure]:
    reached = as_theory = 0
    for a, b in PAIRS:
        found = [fetch(a, b, size_bytes=SIZE_BYTES) for _ in range(TIMES)]
        ways = ", ".join(sorted({one.way for one in found}))
        wanted = "direct" if is_meetable(a, b) else "relayed"
        as_theory += sum(one.way == wanted for one in found)
        reached += len(found)  # else it raises
        yield Figure(
            f"{a} and {b}: {ways}", "first byte", median(one.first_s for one in found), "s", f"theory: {wanted}"
        )
    tries = TIMES * len(PAIRS)
    yield Figure("all pairs", "reached", reached / tries, "of 1", f"{tries} tries")
    yield Figure("all pairs", "direct just where theory allows", as_theory / tries, "of 1", f"{tries} tries")


def _lines() -> Iterator[Figure]:
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    for delay_ms, loss in LINES:
        line = {"delay_ms": delay_ms, "loss": loss}
        own = [fetch("port-restricted", "port-restricted", size_bytes=LARGE_BYTES, **line) for _ in range(TIMES)]
        rate = LARGE_BYTES / 1e6 / median(one.rest_s for one in own)
        by_tcp = LARGE_BYTES / 1e6 / median(upload_s(size_bytes=LARGE_BYTES, **line) for _ in range(TIMES))
        case = f"{2 * delay_ms:g} ms there and back, {loss:.0%} lost"
        yield Figure(case, "direct path", rate, "MB/s", f"TCP ({control}), {by_tcp:.2f} MB/s", rate / by_tcp)
