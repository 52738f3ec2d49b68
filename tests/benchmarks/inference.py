"""Predictions on the device: ``coterie-agent serve`` under load and over swaps of versions; int8 forms against float32.

Delays are those of a machine that does nothing else; the control tells how late this one wakes a program that only
sleeps until it is due. Processor time and ratios hold on a busy machine too.
"""

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil

from coterie_agent.client import Predictions
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.predicting import load_held_model
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from tests.benchmarks.report import Figure
from tests.coterie.cloud.test_quantise import Convolutional, Tiny, Wide, arguments_of, quantised, trained
from tests.coterie_agent.bundles import Bundle, make_bundle, spec_of
from tests.coterie_agent.serving.world import hold, holding, serving

CALLERS = 4
SATURATED_S = 8.0
LOADED_S = 20.0
SHARE = 0.8
SWAPPED_REQUESTS = 100_000
DEADLINE_MS = 250.0
SWAPPED_EVERY_S = 0.5
SIDE, CLASSES = 16, 10
"""An image of 256 numbers: reading it is what a small model's request mostly costs."""


def measure() -> list[Figure]:
    return [*_served(), *_forms()]


def _served() -> Iterator[Figure]:
    versions = [_version(number) for number in (1, 2, 3)]
    with tempfile.TemporaryDirectory() as directory, holding(Path(directory), versions[0]) as (home, store):
        held = load_held_model(store, home, threads=1)
        row = Row(bytes(4 * SIDE * SIDE), 0)
        bare_s = statistics.median(_timed(lambda: held.predict([row])) for _ in range(500))
        with serving(home) as process:
            service = psutil.Process(process.pid)
            before = sum(service.cpu_times()[:2])
            most = _saturated(home.root)
            spent_s = sum(service.cpu_times()[:2]) - before
            yield Figure("4 programs at once", "requests answered", most, "1/s")
            each_ms = 1000 * spent_s / (most * SATURATED_S)
            yield Figure("4 programs at once", "processor time a request", each_ms, "ms")
            late = 1000 * float(np.quantile(_loaded(None, SHARE * most), 0.99))
            yield Figure("control: programs that ask nothing", "p99 of waking late", late, "ms")
            delays = _loaded(home.root, SHARE * most)
            p50, p90, p99 = (1000 * float(np.quantile(delays, share)) for share in (0.5, 0.9, 0.99))
            case = f"{SHARE:.0%} of that, evenly"
            yield Figure(case, "p50", p50, "ms", f"the model alone, {1000 * bare_s:.3f} ms", 1000 * bare_s / p50)
            yield Figure(case, "p90", p90, "ms")
            yield Figure(case, "p99", p99, "ms", f"target <= 1.5 x p50, {1.5 * p50:.3f} ms", 1.5 * p50 / p99)
        with serving(home):
            failed, swaps, kept, took_s = _swapped(home, store, versions)
            case = f"{SWAPPED_REQUESTS} requests while versions are swapped"
            yield Figure(case, "failed", failed, "requests", "target 0", None)
            yield Figure(case, "swaps", swaps, "models")
            yield Figure(case, "within a deadline of 250 ms", 100 * kept, "%", "target >= 99.9 %", kept / 0.999)
            yield Figure(case, "requests answered", SWAPPED_REQUESTS / took_s, "1/s")


def _version(number: int) -> Bundle:
    spec = spec_of(side=SIDE, classes=CLASSES, batch=32)
    rng = np.random.default_rng(number)
    tensors = {tensor.name: rng.normal(size=tensor.shape).astype(np.float32) for tensor in spec.parameters}
    return make_bundle(version=f"v{number}", number=number, spec=spec, tensors=tensors)


def _saturated(home: Path) -> float:
    """Requests a second when every program asks again as soon as it is answered."""
    until = time.monotonic() + SATURATED_S
    counts = [0] * CALLERS

    def call(place: int) -> None:
        with Predictions(home) as model:
            while time.monotonic() < until:
                model.predict([_SAMPLE])
                counts[place] += 1

    _at_once(call)
    return sum(counts) / SATURATED_S


def _loaded(home: Path | None, rate: float) -> Sequence[float]:
    """Delays in seconds from when each request was due, so that one that waits for its turn counts as slow.

    Where the one before was answered in time, a request is due when its program wakes: how late that is, is not the
    service's doing. Without a `home` nothing is asked, and it is all that is measured.
    """
    delays: list[list[float]] = [[] for _ in range(CALLERS)]
    begins = time.perf_counter() + 0.1
    step = CALLERS / rate

    def call(place: int) -> None:
        with Predictions(home or Path("nowhere")) as model:
            due = begins + place * step / CALLERS
            while due < begins + LOADED_S:
                counted_from, early_s = due, due - time.perf_counter()
                if early_s > 0:
                    time.sleep(early_s)
                    counted_from = due if home is None else time.perf_counter()
                if home is not None:
                    model.predict([_SAMPLE])
                delays[place].append(time.perf_counter() - counted_from)
                due += step

    _at_once(call)
    return [delay for own in delays for delay in own[len(own) // 10 :]]  # but the first tenth


def _swapped(home: Home, store: Store, versions: Sequence[Bundle]) -> tuple[int, int, float, float]:
    """Requests that failed, swaps, the share answered within a quarter of a second, and seconds in all."""
    failed, kept = [0] * CALLERS, [0] * CALLERS
    begins = time.perf_counter()

    def call(place: int) -> None:
        with Predictions(home.root) as model:
            for _ in range(SWAPPED_REQUESTS // CALLERS):
                asked = time.perf_counter()
                try:
                    answer = model.predict([_SAMPLE], deadline_ms=DEADLINE_MS)
                    in_time = time.perf_counter() - asked <= DEADLINE_MS / 1000  # as the program sees it
                    kept[place] += in_time and answer.fallback is None
                except AgentError as error:
                    failed[place] += getattr(error, "code", "") != "serve.late"

    callers = _started(call)
    number = 0
    while any(caller.is_alive() for caller in callers):
        number += 1
        hold(home, store, versions[number % len(versions)])
        callers[0].join(SWAPPED_EVERY_S)
    took_s = time.perf_counter() - begins
    with Predictions(home.root) as model:
        swaps = model.status().counted.swaps
    return sum(failed), swaps, sum(kept) / SWAPPED_REQUESTS, took_s


def _forms() -> Iterator[Figure]:
    """Int8 forms of models that are trained on digits."""
    models = {"three wide layers": (Wide(), 6), "CNN": (Convolutional(160), 6), "one layer": (Tiny(), 6)}
    for name, (module, epochs) in models.items():
        with tempfile.TemporaryDirectory() as directory:
            result = quantised(arguments_of(trained(module, epochs=epochs), Path(directory), samples=797))
        whole = result.float32
        for tried in result.tried:
            if tried.measured is None or tried.loss_points is None:
                continue
            case = f"{name}, {tried.method}" + (" (offered)" if tried.method == result.offered else "")
            times = whole.size_bytes / tried.measured.size_bytes
            yield Figure(case, "size", tried.measured.size_bytes / 1000, "KB", "float32", times)
            quicker = whole.p50_us / tried.measured.p50_us
            yield Figure(case, "p50 of one run", tried.measured.p50_us, "µs", f"float32, {whole.p50_us:g} µs", quicker)
            yield Figure(case, "lost", tried.loss_points, "points", "target <= 1 point")


def _at_once(call: Callable[[int], None]) -> None:
    for caller in _started(call):
        caller.join()


def _started(call: Callable[[int], None]) -> list[threading.Thread]:
    sys.setswitchinterval(0.0005)  # so that the callers delay one another little
    callers = [threading.Thread(target=call, args=(place,)) for place in range(CALLERS)]
    for caller in callers:
        caller.start()
    return callers


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


_SAMPLE = np.random.default_rng(0).normal(size=SIDE * SIDE).round(4).tolist()
