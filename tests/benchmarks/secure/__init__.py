"""Secure aggregation: that sums are exact, what they cost devices and the platform, and what few bits cost in accuracy.

Members, keys, shares, masks and recovery are those of production, in one process without a network. Times are of one
core's processor time.
"""

from collections.abc import Iterator

from tests.benchmarks.report import Figure
from tests.benchmarks.secure import accuracy, costs, exactness


def measure() -> list[Figure]:
    return list(_figures())


def _figures() -> Iterator[Figure]:
    yield from costs.figures()
    yield from exactness.figures()
    yield from accuracy.figures()
