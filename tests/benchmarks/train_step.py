"""The compiled train step on onnxruntime against PyTorch, eager and compiled: time, memory, and time to start."""

import functools
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.trace import without_onednn
from coterie.demo.pair import IMAGE, DeviceModel
from coterie_wire.contract import train_inputs, train_outputs, version_names
from coterie_wire.tensors import Array
from tests.benchmarks.processes.in_pytorch import LEARNING_RATE, MOMENTUM, eager_step
from tests.benchmarks.processes.on_onnxruntime import load
from tests.benchmarks.report import Figure
from tests.zoo.entry import Entry, Numbers
from tests.zoo.models import CLASSES, ZOO

BATCHES = (16, 32)
THREADS = (1, 2)
INDUCTOR_CACHE = "TORCHINDUCTOR_CACHE_DIR"
ROUND_S = 0.05
"""Of each side, before the other takes its turn."""
ROUNDS = 12
FOOTPRINT_BATCH = 32
FOOTPRINTS = ("lenet", "mlp", "resnet", "mobilenet", "cnn_windows", "lstm", "causal_transformer", "recommender")
FOOTPRINT_STEPS = 20
START_RUNS = 5
LARGE = 1024
PRODUCTS = 20
MEGA = 1e6

ENTRIES: Mapping[str, Entry] = {"demo": Entry(DeviceModel, (Numbers(IMAGE),), CLASSES), **ZOO}


def measure() -> Sequence[Figure]:
    """Each model in a process of its own for each number of threads, so that none inherits another's state."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        _prepare_all(directory)
        for threads in THREADS:
            for name in ENTRIES:
                figures += _in_fresh_process(directory, name, threads)
        return [*figures, *_means(figures), *_footprints(directory), _start(directory)]


def _prepare_all(directory: Path) -> None:
    """Compile everything with both compilers, on all cores, since nothing is timed yet."""
    with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
        for name in pool.imap_unordered(partial(_prepare, directory), ENTRIES):
            sys.stderr.write(f"{name}: compiled\n")


def _prepare(directory: Path, name: str) -> str:
    os.environ[INDUCTOR_CACHE] = str(directory / "inductor")
    for batch in BATCHES:
        lay_out(directory / f"{name}.{batch}", ENTRIES[name], batch)
        for threads in THREADS:
            torch.set_num_threads(threads)
            torch.compiler.reset()
            _inductor(ENTRIES[name], batch)
    return name


class _Times(NamedTuple):
    """Seconds a step, by side."""

    ours: Sequence[float]
    eager: Sequence[float]
    compiled: Sequence[float]


def _in_fresh_process(directory: Path, name: str, threads: int) -> list[Figure]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: list[Figure] = pool.apply(_measure_model, (directory, name, threads))
    for figure in found:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}× "
        sys.stderr.write(f"{figure.case}: {figure.value:.3f} {figure.unit}, {ratio}against {figure.against}\n")
    return found


def _measure_model(directory: Path, name: str, threads: int) -> list[Figure]:
    os.environ[INDUCTOR_CACHE] = str(directory / "inductor")
    torch.set_num_threads(threads)
    entry = ENTRIES[name]
    figures = []
    for batch in BATCHES:
        case = f"{name}, {_threads(threads)}, batch {batch}"
        ours = load(directory / f"{name}.{batch}", threads=threads).step
        eager = eager_step(entry, entry.built(), batch)
        inductor, failure = _inductor(entry, batch)
        times = _race(ours, eager, inductor)
        milliseconds = 1e3 * statistics.median(times.ours)
        for side, theirs in (("eager PyTorch", times.eager), ("torch.compile", times.compiled)):
            if not theirs:
                figures.append(Figure(case, "train step", milliseconds, "ms", against=f"{side} failed: {failure}"))
                continue
            ratio = statistics.median(other / own for other, own in zip(theirs, times.ours, strict=True))
            against = f"{side}, {1e3 * statistics.median(theirs):.2f} ms"
            figures.append(Figure(case, "train step", milliseconds, "ms", against=against, ratio=ratio))
        figures.append(_bound(case, entry, batch, statistics.median(times.eager)))
    return figures


def _bound(case: str, entry: Entry, batch: int, eager_s: float) -> Figure:
    """A step that did nothing but PyTorch's products, each as quickly as one of large matrices."""
    with without_onednn(), FlopCounterMode(display=False) as counted:  # which has layers that nobody can look into
        eager_step(entry, entry.built(), batch)()
    least_s = counted.get_total_flops() / _fastest()
    against = f"{_fastest() / 1e9:.0f} GFLOP/s; eager PyTorch, {1e3 * eager_s:.2f} ms"
    return Figure(case, "bound", 1e3 * least_s, "ms", against=against, ratio=eager_s / least_s)


@functools.cache
def _fastest() -> float:
    """Floating-point operations a second in a product of large matrices."""
    matrix = torch.randn(LARGE, LARGE)
    seconds = []
    for _ in range(PRODUCTS):
        started = time.perf_counter()
        torch.mm(matrix, matrix)
        seconds.append(time.perf_counter() - started)
    return 2.0 * LARGE**3 / min(seconds)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _race(ours: Callable[[], object], eager: Callable[[], object], compiled: Callable[[], object] | None) -> _Times:
    """All take turns, so that a busy machine is busy for all."""
    sides = [side for side in (ours, eager, compiled) if side is not None]
    rounds = [[_seconds(side) for side in sides] for _ in range(ROUNDS + 1)][1:]
    columns = list(zip(*rounds, strict=True))
    return _Times(columns[0], columns[1], columns[2] if compiled is not None else ())


def _seconds(step: Callable[[], object]) -> float:
    """A step's, on average over a turn."""
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < ROUND_S:
        step()
        count += 1
    return (time.perf_counter() - started) / count


def _inductor(entry: Entry, batch: int) -> tuple[Callable[[], None] | None, str]:
    """The step with PyTorch's own compiler, or why there is none."""
    step = eager_step(entry, torch.compile(entry.built(), dynamic=False), batch)
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever the compiler stumbles over is reported
        return None, f"{type(error).__name__}: {error}".splitlines()[0][:80]
    return step, ""


def _means(figures: Sequence[Figure]) -> Iterator[Figure]:
    for side, target in (("eager PyTorch", 2.0), ("torch.compile", None)):
        compared = [figure for figure in figures if (figure.against or "").startswith(side)]
        against = side if target is None else f"{side}, target >= {target:g}"
        for threads, batch in itertools.product(THREADS, BATCHES):
            setting = f"{_threads(threads)}, batch {batch}"
            chosen = [figure for figure in compared if figure.case.endswith(setting)]
            ratios = {figure.case: figure.ratio for figure in chosen if figure.ratio is not None}
            mean = statistics.geometric_mean(ratios.values())
            yield Figure(setting, f"geometric mean over {side}", mean, "×", against=against)
            worst = min(ratios, key=lambda case: ratios[case])
            yield Figure(worst, f"least over {side}", ratios[worst], "×", against=f"{side}, target >= 1")


def _footprints(directory: Path) -> Iterator[Figure]:
    """Peak memory of a process that trains on one thread."""
    for name in FOOTPRINTS:
        graph = str(directory / f"{name}.{FOOTPRINT_BATCH}")
        ours = _watched("on_onnxruntime", graph, FOOTPRINT_STEPS, 1).peak_bytes
        theirs = _watched("in_pytorch", name, FOOTPRINT_BATCH, FOOTPRINT_STEPS, 1).peak_bytes
        against = f"PyTorch, {theirs / MEGA:.0f} MB; target <= 0.4 of it"
        yield Figure(name, "peak memory", ours / MEGA, "MB", against=against, ratio=theirs / ours)


def _start(directory: Path) -> Figure:
    """From the process's start to its first step."""
    graph = str(directory / f"demo.{FOOTPRINT_BATCH}")
    seconds = min(_watched("on_onnxruntime", graph, 1, 1).first_step_s for _ in range(START_RUNS))
    target = 0.5
    return Figure("demo", "start to first step", seconds, "s", against=f"target <= {target} s", ratio=target / seconds)


class _Watched(NamedTuple):
    first_step_s: float
    peak_bytes: int


def _watched(program: str, *arguments: str | int) -> _Watched:
    command = [sys.executable, "-m", f"tests.benchmarks.processes.{program}", *map(str, arguments)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first_step_s = time.perf_counter() - started
        return _Watched(first_step_s, int(process.stdout.readline()))


def lay_out(directory: Path, entry: Entry, batch: int) -> None:
    """The graph and all that a step takes, as `load` reads them."""
    model = compile_model(export_module(entry.built(), entry.samples(2, 0)), batch_size=batch)
    spec = model.spec
    samples = entry.samples(batch, 1)
    known: dict[str, Array] = {
        **{tensor.name: sample.numpy() for tensor, sample in zip(spec.inputs, samples, strict=True)},
        **{role: model.parameters[name] for name, role in version_names(spec).items()},
        **{f"anchor.{tensor.name}": model.parameters[tensor.name] for tensor in spec.parameters},
        spec.target.name: np.arange(batch) % entry.classes,
        "sample_weight": np.ones(batch, np.float32),
        "learning_rate": np.array(LEARNING_RATE, np.float32),
        "momentum": np.array(MOMENTUM, np.float32),
    }
    wanted = train_inputs(spec).values()
    feeds = {tensor.name: known.get(tensor.name, np.zeros(tensor.shape, tensor.dtype)) for tensor in wanted}
    directory.mkdir()
    (directory / "train_step.onnx").write_bytes(model.train_step)
    (directory / "outputs.txt").write_text("\n".join(list(train_outputs(spec))))
    np.savez(directory / "feeds.npz", **feeds)
