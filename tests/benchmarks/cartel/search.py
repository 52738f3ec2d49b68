"""Neighbour search among 100,000 devices with 100 classes, on one core."""

import time
import tracemalloc

import numpy as np

from coterie_learning.help.cartel import Cartel
from coterie_learning.neighbours import Neighbour, NeighbourIndex, Wanted
from coterie_learning.profile import Counts
from tests.benchmarks.report import Figure

DEVICES, CLASSES, SAMPLES = 100_000, 100, 500
REPEATS = 15
TROUBLED = 3
SEARCHES = {
    "the plan's limits": Cartel(),
    "every device qualifies": Cartel(largest_divergence=1.0, helper_recall=0.0, helper_error=1.0),
}


def search_figures() -> list[Figure]:
    """Exact searches with the index full."""
    rng = np.random.default_rng(0)
    index = NeighbourIndex(CLASSES)
    for number in range(DEVICES):
        samples = rng.multinomial(SAMPLES, rng.dirichlet(np.full(CLASSES, 0.3)))
        samples[TROUBLED] += 1
        index.put(f"device-{number}", Neighbour(Counts(samples, rng.binomial(samples, 0.1))))
    samples = rng.multinomial(SAMPLES, rng.dirichlet(np.full(CLASSES, 0.3)))
    wanted = Wanted(Counts(samples, samples), (TROUBLED,))
    figures = []
    for title, cartel in SEARCHES.items():
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            found = index.search(wanted, cartel, limit=3)
            times.append(time.perf_counter() - started)
        assert len(found) == 3
        case = f"search {DEVICES:,} × {CLASSES}, {title}"
        figures.append(
            Figure(case, "quickest search of many", 1e3 * min(times), "ms", "target ≤ 100 ms", 0.1 / min(times))
        )
    tracemalloc.start()
    index.search(wanted, cartel, limit=3)
    figures.append(Figure(case, "memory that a search takes", tracemalloc.get_traced_memory()[1] / 2**20, "MiB"))
    tracemalloc.stop()
    sample = Neighbour(Counts(np.full(CLASSES, 5), np.zeros(CLASSES, np.int64)))
    started = time.perf_counter()
    for number in range(1000):
        index.put(f"device-{number}", sample)
    figures.append(Figure(case, "a device's metadata replaced", (time.perf_counter() - started) * 1e3, "µs"))
    return figures
