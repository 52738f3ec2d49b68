"""Predictions on the device: ``coterie-agent serve`` under load and over swaps of versions; int8 forms against float32.

Each program that asks is a process of its own, so that none waits for another's interpreter. Delays are those of a
machine that does nothing else and has a core for each of them; the control tells how late this one wakes a program that
only sleeps until it is due. Processor time and ratios hold on a busy machine too.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from coterie.cloud.quantise import quantise_stored
from coterie_agent.client import Predictions
from coterie_agent.home import Home
from coterie_agent.predicting import load_held_model
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from tests.benchmarks.processes.caller import READY, Counted, Counting, Evenly, Saturating, Task
from tests.benchmarks.report import Figure
from tests.coterie.cloud.test_quantise import Convolutional, Tiny, Wide, arguments_of, trained
from tests.coterie_agent.bundles import Bundle, make_bundle, spec_of
from tests.coterie_agent.serving.world import hold, holding, serving
from tests.zoo.models import ZOO
from tests.zoo.quantised import quantised

T = TypeVar("T")
Caller = subprocess.Popen[str]
CALLERS = 4
BEGIN_AFTER_S = 0.1
SATURATED_S = 8.0
LOADED_S = 20.0
SHARE = 0.8
SWAPPED_REQUESTS = 100_000
DEADLINE_MS = 250.0
SWAPPED_EVERY_S = 0.5
START_S = 20.0
_QUEUED = 200_000
"""Requests of a computed queue."""
SIDE, CLASSES = 16, 10
"""An image of 256 numbers: reading it is what a small model's request mostly costs."""


def measure() -> list[Figure]:
    return [*served(), *forms(), *zoo()]


def served() -> Iterator[Figure]:
    """The service under load, and over swaps."""
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
            with Predictions(home.root) as model:
                answer = msgspec.json.encode(model.predict([_SAMPLE])).decode()
            delays = _loaded(home.root, SHARE * most)
            p50, p90, p99 = (1000 * float(np.quantile(delays, share)) for share in (0.5, 0.9, 0.99))
            case = f"{SHARE:.0%} of that, evenly"
            yield Figure(case, "p50", p50, "ms", f"the model alone, {1000 * bare_s:.3f} ms", 1000 * bare_s / p50)
            yield Figure(case, "p90", p90, "ms")
            yield Figure(case, "p99", p99, "ms", f"target <= 1.5 x p50, {1.5 * p50:.3f} ms", 1.5 * p50 / p99)
        yield from _unavoidable(answer, SHARE * most)
        with serving(home):
            failed, swaps, kept, took_s = _swapped(home, store, versions)
            case = f"{SWAPPED_REQUESTS} requests while versions are swapped"
            yield Figure(case, "failed", failed, "requests", "target 0", None)
            yield Figure(case, "swaps", swaps, "models")
            yield Figure(case, "within a deadline of 250 ms", 100 * kept, "%", "target >= 99.9 %", kept / 0.999)
            yield Figure(case, "requests answered", SWAPPED_REQUESTS / took_s, "1/s")


def _unavoidable(answer: str, rate: float) -> Iterator[Figure]:
    """What no service can take away: the delays of callers whose service computes nothing, and queueing itself."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "tests.benchmarks.processes.null_service", directory, answer]
        with subprocess.Popen(command) as null:
            try:
                _wait_for(Home(Path(directory)).serving)
                delays = _loaded(Path(directory), rate)
            finally:
                null.kill()
    p50, p99 = (1000 * float(np.quantile(delays, share)) for share in (0.5, 0.99))
    case = "control: the same requests, answered without being read"
    yield Figure(case, "p50", p50, "ms")
    yield Figure(case, "p99", p99, "ms", "p50", p50 / p99)
    rng = np.random.default_rng(0)
    between = {
        "evenly": np.full(_QUEUED, 1 / SHARE),
        "as people come (Poisson)": rng.exponential(1 / SHARE, _QUEUED),
    }
    for how, gaps in between.items():
        for each, stalls in (("alike", 0.0), ("alike, but one of 333 takes 21 times as long", 20.0)):
            services = 1 + stalls * (rng.random(_QUEUED) < 1 / 333)
            waited = queued(np.cumsum(gaps), services)
            low, high = (float(np.quantile(waited, share)) for share in (0.5, 0.99))
            name = f"computed: one server at {SHARE:.0%}, requests {how}, services {each}"
            yield Figure(name, "p99 against p50", high / low, "times")


def queued(arrivals: NDArray[np.float64], services: NDArray[np.float64]) -> NDArray[np.float64]:
    """How long each is at one server that serves in order of arrival, waiting included (Lindley's recursion)."""
    found, free_at = np.empty_like(arrivals), 0.0
    for place, (arrived, takes) in enumerate(zip(arrivals, services, strict=True)):
        free_at = max(arrived, free_at) + takes
        found[place] = free_at - arrived
    return found


def _wait_for(file: Path) -> None:
    until = time.monotonic() + START_S
    while not file.exists():
        if time.monotonic() > until:
            raise RuntimeError("the service that computes nothing has not started")
        time.sleep(0.01)


def _version(number: int) -> Bundle:
    spec = spec_of(side=SIDE, classes=CLASSES, batch=32)
    rng = np.random.default_rng(number)
    tensors = {tensor.name: rng.normal(size=tensor.shape).astype(np.float32) for tensor in spec.parameters}
    return make_bundle(version=f"v{number}", number=number, spec=spec, tensors=tensors)


def _saturated(home: Path) -> float:
    """Requests a second when every program asks again as soon as it is answered."""
    answered = _at_once([Saturating(str(home), _SAMPLE, SATURATED_S)] * CALLERS, int)
    return sum(answered) / SATURATED_S


def _loaded(home: Path | None, rate: float) -> Sequence[float]:
    """Delays in seconds, as `Evenly` has them, when programs together ask at `rate` a second."""
    asked, step_s = None if home is None else str(home), CALLERS / rate
    tasks = [Evenly(asked, _SAMPLE, place * step_s / CALLERS, step_s, LOADED_S) for place in range(CALLERS)]
    return [delay for own in _at_once(tasks, list[float]) for delay in own[len(own) // 10 :]]  # but the first tenth


def _swapped(home: Home, store: Store, versions: Sequence[Bundle]) -> tuple[int, int, float, float]:
    """Requests that failed, swaps, the share answered within a quarter of a second, and seconds in all."""
    task = Counting(str(home.root), _SAMPLE, SWAPPED_REQUESTS // CALLERS, DEADLINE_MS)
    with _callers([task] * CALLERS) as callers:
        begins = _begin(callers)
        number = 0
        while any(caller.poll() is None for caller in callers):
            number += 1
            hold(home, store, versions[number % len(versions)])
            with suppress(subprocess.TimeoutExpired):
                callers[0].wait(SWAPPED_EVERY_S)
        took_s = time.monotonic() - begins
        found = [_result(caller, Counted) for caller in callers]
    with Predictions(home.root) as model:
        swaps = model.status().counted.swaps
    return sum(each.failed for each in found), swaps, sum(each.kept for each in found) / SWAPPED_REQUESTS, took_s


def forms() -> Iterator[Figure]:
    """Int8 forms of models that are trained on digits."""
    models = {"three wide layers": (Wide(), 6), "CNN": (Convolutional(160), 6), "one layer": (Tiny(), 6)}
    for name, (module, epochs) in models.items():
        with tempfile.TemporaryDirectory() as directory:
            arguments = arguments_of(trained(module, epochs=epochs), Path(directory), samples=797)
            Path(arguments.output).parent.mkdir()
            result = quantise_stored(arguments, lambda _progress: None)
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


def zoo() -> Iterator[Figure]:
    """Each model of the zoo, which tells kinds of drawn samples apart: the form that is offered, or why there is none.

    Times are of the processor, which hold on a busy machine too.
    """
    for name, entry in ZOO.items():
        with tempfile.TemporaryDirectory() as directory:
            _, result = quantised(entry, Path(directory), clock=time.process_time)
        whole = result.float32
        offered = [tried for tried in result.tried if tried.method == result.offered]
        if not offered:
            why = "" if result.refused is None else f"{result.refused.sentence} [{result.refused.code}]"
            yield Figure(name, "float32 alone", whole.size_bytes / 1000, "KB", why)
        for tried in offered:
            assert tried.measured is not None and tried.loss_points is not None, "it was measured"
            size, p50_us = tried.measured.size_bytes, tried.measured.p50_us
            yield Figure(f"{name}, {tried.method}", "size", size / 1000, "KB", "float32", whole.size_bytes / size)
            against = f"float32, {whole.p50_us:g} µs"
            yield Figure(f"{name}, {tried.method}", "p50 of one run", p50_us, "µs", against, whole.p50_us / p50_us)
            yield Figure(f"{name}, {tried.method}", "lost", tried.loss_points, "points", "target <= 1 point")


def _at_once(tasks: Sequence[Task], result: type[T]) -> list[T]:
    """What comes of them."""
    with _callers(tasks) as callers:
        _begin(callers)
        return [_result(caller, result) for caller in callers]


@contextmanager
def _callers(tasks: Sequence[Task]) -> Iterator[list[Caller]]:
    """A process for each task, that is ready; they end with the block."""
    command = [sys.executable, "-m", "tests.benchmarks.processes.caller"]
    with ExitStack() as stack:
        callers = []
        for task in tasks:
            caller = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            callers.append(stack.enter_context(caller))
            stack.callback(caller.kill)
            _tell(caller, msgspec.json.encode(task).decode())
        for caller in callers:
            if _line(caller) != f"{READY}\n":
                raise RuntimeError("a caller ended before it had begun; its error stands above")
        yield callers


def _begin(callers: Sequence[Caller]) -> float:
    """Let all begin at one moment, of `time.monotonic`."""
    begins = time.monotonic() + BEGIN_AFTER_S
    for caller in callers:
        _tell(caller, repr(begins))
    return begins


def _result(caller: Caller, result: type[T]) -> T:
    told = _line(caller)
    if not told:
        raise RuntimeError("a caller ended with an error, which stands above")
    return msgspec.json.decode(told, type=result)


def _tell(caller: Caller, line: str) -> None:
    assert caller.stdin is not None, "it is a pipe"
    caller.stdin.write(f"{line}\n")
    caller.stdin.flush()


def _line(caller: Caller) -> str:
    assert caller.stdout is not None, "it is a pipe"
    return caller.stdout.readline()


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


_SAMPLE = np.random.default_rng(0).normal(size=SIDE * SIDE).round(4).tolist()

PARTS: Mapping[str, Callable[[], Iterator[Figure]]] = {"served": served, "forms": forms, "zoo": zoo}
"""What can be measured by itself."""
