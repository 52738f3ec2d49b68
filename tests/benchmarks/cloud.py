"""Strategies of training in the cloud: what they gain, and where they lose.

AdaComm runs on a simulated clock: a step of all workers takes 1, an averaging 10; the rule is the strategy's own, the
network and its gradients are NumPy's. Gradient coding, the hooks and divided models run in real processes on this
machine. Early ends are decided on generated loss curves, placement on generated traces; transfers by priority are
simulated, and run over a shaped link. Settings are those of the papers' reproductions, fixed before the runs; every
line of a group has the same seeds.
"""

import asyncio
import multiprocessing
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import psutil
import torch
from sklearn.datasets import load_digits
from torch import nn

from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import alone, bootstrap_job, worker_job
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.course import Course
from coterie.cloud.early_end import early_end
from coterie.cloud.exchange.frames import Frame, largest
from coterie.cloud.exchange.server import SECRET, WORKER
from coterie.cloud.exchange.worker import Shares, answer_all
from coterie.cloud.exchanged import Master
from coterie.cloud.gradient_code import GradientCode, cyclic_code, plain_code, repetition_code
from coterie.cloud.learner import Learner
from coterie.cloud.strategy.local_sgd import LocalSgd
from coterie.cloud.writer import Writer
from coterie.compile.program import export_module
from tests.benchmarks.cloud_placement import placement
from tests.benchmarks.cloud_priority import priority
from tests.benchmarks.report import Figure

WORKERS, BATCH, RATE, HORIZON, AVERAGING = 4, 8, 0.1, 8000.0, 10.0
LATE_S = 0.3
SEEDS = (0, 1, 2)


def measure() -> list[Figure]:
    """All figures."""
    return [
        *_periods(),
        *_codes(),
        *_late(),
        *_hooks(),
        *_divided(),
        *_loaded(),
        *_checkpoints(),
        *_early_ends(),
        *placement(),
        *priority(),
    ]


class Shard(NamedTuple):
    """A worker's samples."""

    x: np.ndarray
    y: np.ndarray


Weights = list[np.ndarray]


def _start(generator: np.random.Generator) -> Weights:
    first, second = generator.normal(size=(64, 64)) * 0.18, generator.normal(size=(64, 10)) * 0.18
    return [first, np.zeros(64), second, np.zeros(10)]


def _gradient(weights: Weights, x: np.ndarray, y: np.ndarray) -> tuple[float, Weights]:
    """Cross-entropy of an MLP 64-64-10, and its gradient."""
    hidden = np.maximum(x @ weights[0] + weights[1], 0)
    logits = hidden @ weights[2] + weights[3]
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    loss = float(-np.log(p[np.arange(len(y)), y] + 1e-12).mean())
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    back = (p @ weights[2].T) * (hidden > 0)
    return loss, [x.T @ back, back.sum(axis=0), hidden.T @ p, p.sum(axis=0)]


def _course(strategy: LocalSgd, seed: int) -> list[tuple[float, float]]:
    """(clock, loss on all samples) at averaging points, some 30 units apart."""
    generator = np.random.default_rng(seed)
    digits = load_digits()
    order = generator.permutation(len(digits.target))[:1500]
    order = order[np.argsort(digits.target[order], kind="stable")]  # each worker has the digits of few classes
    x = digits.data[order] / 16 + generator.normal(size=(1500, 64)) * 0.15
    shards = [Shard(x[part], digits.target[order][part]) for part in np.array_split(np.arange(1500), WORKERS)]
    everything = Shard(x, digits.target[order])
    mean = _start(generator)
    models = [[w.copy() for w in mean] for _ in range(WORKERS)]
    clock, since, interval, losses, shown = 0.0, 0, 0, 0.0, -1e9
    period, curve = strategy.begin(), []
    while clock < HORIZON:
        for model, shard in zip(models, shards, strict=True):
            rows = generator.integers(len(shard.y), size=BATCH)
            loss, gradient = _gradient(model, shard.x[rows], shard.y[rows])
            losses += loss / WORKERS
            for w, g in zip(model, gradient, strict=True):
                w -= RATE * g
        clock, since, interval = clock + 1, since + 1, interval + 1
        if since < period.steps:
            continue
        clock, since = clock + AVERAGING, 0
        mean = [sum(parts) / WORKERS for parts in zip(*models, strict=True)]
        models = [[w.copy() for w in mean] for _ in range(WORKERS)]
        if interval >= strategy.interval_steps:
            period, interval, losses = strategy.renew(period, losses / interval), 0, 0.0
        if clock - shown >= 30:
            shown = clock
            curve.append((clock, _gradient(mean, everything.x, everything.y)[0]))
    return curve


def _periods() -> Iterator[Figure]:
    fixed = {tau: LocalSgd(workers=WORKERS, period=tau, adaptive=False) for tau in (1, 5, 20, 100)}
    adaptive = {
        f"adaptive from 20, decay {decay}": LocalSgd(workers=WORKERS, period=20, decay=decay, interval_steps=200)
        for decay in (0.5, 1.0)
    }
    arms = {f"period {tau}": strategy for tau, strategy in fixed.items()} | adaptive
    curves = {name: [_course(strategy, seed) for seed in SEEDS] for name, strategy in arms.items()}
    ends = [statistics.mean(loss for _, loss in curve[-5:]) for curve in curves["period 1"]]
    needed = {name: [_reached(curve, end) for curve, end in zip(of, ends, strict=True)] for name, of in curves.items()}
    sync = statistics.mean(needed["period 1"])
    for name, of in curves.items():
        case = f"local_sgd, averaging = 10 steps, {name}"
        yield Figure(case, "loss at the end", statistics.mean(c[-1][1] for c in of), "nats")
        there = statistics.mean(needed[name])
        goal = "target >= 2x" if "adaptive" in name else "never gets there" if there == HORIZON else "-"
        yield Figure(case, "clock to the end loss of period 1", there, "steps", f"{sync:.0f}; {goal}", sync / there)


def _reached(curve: Sequence[tuple[float, float]], wanted: float) -> float:
    """When the mean of three points is below `wanted`; the horizon: never."""
    for (_, a), (_, b), (clock, c) in zip(curve, curve[1:], curve[2:], strict=False):
        if (a + b + c) / 3 <= wanted:
            return clock
    return HORIZON


@contextmanager
def _job(strategy: dict[str, object], *, width: int, epochs: int = 1, rows: int = 1797) -> Iterator[BootstrapArguments]:
    """Digits, and an MLP with one hidden layer."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
        torch.export.save(export_module(module, (torch.zeros(2, 64),)), directory / "cloud.pt2")
        digits = load_digits()
        np.savez(
            directory / "data.npz", x=(digits.data[:rows] / 16).astype(np.float32), y=digits.target[:rows].astype("i8")
        )
        yield BootstrapArguments(
            cloud=str(directory / "cloud.pt2"),
            dataset=str(directory / "data.npz"),
            recipe={},
            loss=None,
            output=str(directory / "trained"),
            epochs=epochs,
            patience=epochs,
            batch_size=64,
            strategy=strategy,
        )


def _codes() -> Iterator[Figure]:
    """The error of decoded gradients, for every set of stragglers."""
    for workers, stragglers in ((4, 1), (6, 2), (8, 1), (8, 2)):
        with _job({"kind": "coded", "workers": workers, "stragglers": stragglers, "code": "cyclic"}, width=64) as job:
            learner = Learner(job)
            shares, code = Shares(learner, workers), cyclic_code(workers, stragglers, seed=0)
            state = shares.layout.state()
            sent = []
            for worker in range(workers):
                words = {"number": "1", "epoch": "0", "step": "0", "exact": "1"}
                factors = str([list(pair) for pair in code.shares_of(worker)])
                sent.append(_vector_of(shares.answer(Frame({**words, "factors": factors}, state))))
            learner.optimiser.zero_grad()
            whole = shares.layout.gather(learner.backward(learner.batches(0)[0]))
            worst = 0.0
            for replied in combinations(range(workers), workers - stragglers):
                found = sum(factor * sent[worker] for worker, factor in (code.decode(replied) or {}).items())
                worst = max(worst, float(np.linalg.norm(found - whole) / np.linalg.norm(whole)))
        case = f"coded, cyclic, {workers} workers, {stragglers} late"
        yield Figure(case, "worst error of the gradient", worst, "relative", "target <= 1e-6")


def _vector_of(reply: bytes) -> np.ndarray:
    from coterie_wire.tensors import read_header, view_tensors

    header = read_header(reply[8:])
    tensors = view_tensors(reply[8:], header, expected=tuple(header.specs.values()))
    return tensors["vector"].astype(np.float64) + tensors["remainder"]


def _answer(job: BootstrapArguments, workers: int, number: int, port: int, secret: str, late_s: float) -> None:
    """A worker in a process of its own, which is late by `late_s` at every step."""
    torch.set_num_threads(1)
    shares = Shares(Learner(job), workers)

    async def answer(frame: Frame) -> bytes:
        await asyncio.sleep(late_s)
        return shares.answer(frame)

    hello = {SECRET: secret, WORKER: str(number)}
    asyncio.run(answer_all(port, hello, answer, most_bytes=largest(shares.layout.size)))


def _late() -> Iterator[Figure]:
    codes = {"each its own share": plain_code(4), "repetition": repetition_code(4, 1), "cyclic": cyclic_code(4, 1, 0)}
    for late_s, who in ((LATE_S, "one of four late by 300 ms"), (0.0, "none late")):
        times = {name: _step_s(code, late_s) for name, code in codes.items()}
        naive = times["each its own share"]
        for name, seconds in times.items():
            goal = "target >= 1.9x" if late_s and name != "each its own share" else "-"
            against = f"its own share, {1e3 * naive:.0f} ms; {goal}"
            yield Figure(f"{name}, {who}", "time of a step", 1e3 * seconds, "ms", against, naive / seconds)


def _step_s(code: GradientCode, late_s: float) -> float:
    """The mean time of the steps of an epoch."""
    workers = len(code.matrix)
    spawn = multiprocessing.get_context("spawn")
    with _job({"kind": "coded"}, width=64) as job, asyncio.Runner() as runner:
        master = Master(job, code)
        course = Course(master.learner.batches)
        secret = secrets.token_hex(8)
        port = runner.run(master.open(secret))
        processes = [
            spawn.Process(target=_answer, args=(job, workers, n, port, secret, late_s if n == 0 else 0.0), daemon=True)
            for n in range(workers)
        ]
        for process in processes:
            process.start()
        runner.run(master.synchronous_epoch(0, course))  # until all are there
        begun = time.perf_counter()
        runner.run(master.synchronous_epoch(1, course))
        steps = len(master.learner.batches(1))
        seconds = (time.perf_counter() - begun) / steps
        for process in processes:
            process.kill()
            process.join()
        runner.run(master.exchange.close())
    return seconds


def _hooks() -> Iterator[Figure]:
    found = {}
    for hook in ("none", "fp16", "power_sgd"):
        strategy: dict[str, object] = {"kind": "data_parallel", "workers": 2, "hook": hook, "rank": 2}
        told: list[Progress] = []
        with _job(strategy, width=256, epochs=12) as job:
            bootstrap_stored(job, told.append)
        found[hook] = told[-1].values
    plain = found["none"]
    for hook, values in found.items():
        case, size = f"data_parallel, two workers, hook {hook}", values["sent_bytes"]
        against = f"none, {plain['sent_bytes'] / 1e6:.2f} MB"
        yield Figure(case, "sent by a worker in an epoch", size / 1e6, "MB", against, plain["sent_bytes"] / size)
        yield Figure(case, "accuracy on samples held back", values["validation_accuracy"], "share")


DIVIDED: tuple[tuple[str, dict[str, object]], ...] = (
    ("one_process", {"kind": "one_process"}),
    ("data_parallel, two workers", {"kind": "data_parallel", "workers": 2}),
    ("sharded, two workers", {"kind": "sharded", "workers": 2}),
    ("pipeline, two workers, 1F1B", {"kind": "pipeline", "workers": 2}),
    ("pipeline, two workers, interleaved", {"kind": "pipeline", "workers": 2, "stages_each": 2}),
)
WIDE, NARROW = 1536, 16
CURVES = 500


def _divided() -> Iterator[Figure]:
    """Memory while it trains: a wide model's less a narrow one's, so that PyTorch itself does not count."""
    whole = None
    for name, strategy in DIVIDED:
        (least, _), (most, values) = (_watched(strategy, width) for width in (NARROW, WIDE))
        memory = [big - small for big, small in zip(most, least, strict=True)]
        if whole is None:
            whole = max(memory), values
        case = f"{name}, 7.2 million parameters"
        against = f"one_process, {whole[0] / 1e6:.0f} MB"
        yield Figure(case, "memory of the first worker", memory[0] / 1e6, "MB", against, whole[0] / memory[0])
        if len(memory) > 1:
            others = max(memory[1:])
            yield Figure(case, "memory of the others, at most", others / 1e6, "MB", against, whole[0] / others)
        away = abs(values["loss"] / whole[1]["loss"] - 1)
        yield Figure(case, "loss, away from one_process", away, "relative", "target <= 1e-4")
        yield Figure(case, "sent by a worker in an epoch", values["sent_bytes"] / 1e6, "MB")


SAVED_WIDTH, SAVED_ROWS = 2800, 1797
"""A model of 23.7 million parameters: a checkpoint has 380 MB."""


class _InTurn(Writer):
    """Whoever adds something waits until it is done: checkpoints as they would be without a thread."""

    def then(self, act: Callable[[], None]) -> None:
        super().then(act)
        self.wait()


def _checkpoints() -> Iterator[Figure]:
    """Epochs of one process: without checkpoints, with those beside training, and with those in between, in turn."""
    times: dict[str, list[float]] = {"none": [], "in turn": [], "beside": []}
    for _ in range(2):
        for how, of in times.items():
            alone.Writer = _InTurn if how == "in turn" else Writer  # type: ignore[misc]
            with _deep_job({"kind": "one_process"}, width=SAVED_WIDTH, rows=SAVED_ROWS) as job:
                checkpoints = None if how == "none" else str(Path(job.output).parent)
                told: list[float] = []
                begun = time.perf_counter()
                bootstrap_stored(
                    msgspec.structs.replace(job, checkpoints=checkpoints),
                    lambda _progress, told=told: told.append(time.perf_counter()),  # type: ignore[misc]
                )
                of += [later - former for former, later in pairwise([begun, *told])][1:]  # the first one loads
    alone.Writer = Writer  # type: ignore[misc]
    found = {how: statistics.median(of) for how, of in times.items()}
    case = "one_process, 23.7 million parameters, epochs of 26 steps"
    for how, seconds in found.items():
        against, ratio = f"in turn, {found['in turn']:.2f} s", found["in turn"] / seconds
        yield Figure(case, f"an epoch, checkpoints {how}", seconds, "s", against, ratio)


LARGE = 3072
"""Width of a model of 28.6 million parameters."""


def _loaded() -> Iterator[Figure]:
    """Peak memory of processes that load and end: of a large model less that of a narrow one."""
    strategies = (
        ("one_process", {"kind": "one_process"}, 1),
        ("sharded, two workers", {"kind": "sharded", "workers": 2}, 2),
        ("sharded, four workers", {"kind": "sharded", "workers": 4}, 4),
    )
    whole = 0.0
    for name, strategy, workers in strategies:
        narrow, large = (max(_peaks(strategy, width, workers)) for width in (NARROW, LARGE))
        found = (large - narrow) / 1e6
        whole = whole or found
        case, against = f"{name}, 28.6 million parameters (114 MB)", f"one_process, {whole:.0f} MB"
        yield Figure(case, "peak memory of loading, of any worker", found, "MB", against, whole / found)


def _peaks(strategy: dict[str, object], width: int, workers: int) -> list[int]:
    with _deep_job(strategy, width=width) as job:
        told = msgspec.json.encode(job).decode()
        program = [sys.executable, "-m", "tests.benchmarks.processes.loading", told]
        processes = [
            subprocess.Popen([*program, str(number)], stdout=subprocess.PIPE, text=True) for number in range(workers)
        ]
        return [int(process.communicate()[0].splitlines()[-1]) for process in processes]


def _watched(strategy: dict[str, object], width: int) -> tuple[list[int], Mapping[str, float]]:
    """The most that each process of a training held after its first epoch, in their order, and its figures."""
    told: list[Progress] = []
    most: dict[int, int] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            if told:
                for number, process in enumerate(_workers(strategy)):
                    with suppress(psutil.NoSuchProcess):
                        most[number] = max(most.get(number, 0), process.memory_info().rss)

    with _deep_job(strategy, width=width) as job:
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            if strategy["kind"] == "one_process":
                run_child(bootstrap_job.JOB, job, limits=Limits(memory_bytes=8 << 30), on_progress=told.append)
            else:
                bootstrap_stored(job, told.append)
        finally:
            done.set()
            watcher.join()
    return [most[number] for number in sorted(most)], told[-1].values


def _workers(strategy: dict[str, object]) -> list[psutil.Process]:
    """The processes that train, in the order of their numbers: they are started so."""
    module = bootstrap_job.__name__ if strategy["kind"] == "one_process" else worker_job.__name__
    children = psutil.Process().children()
    found = []
    for child in children:
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if child.cmdline()[-1:] == [module]:
                found.append(child)
    return sorted(found, key=lambda child: child.pid)


@contextmanager
def _deep_job(strategy: dict[str, object], *, width: int, rows: int = 512) -> Iterator[BootstrapArguments]:
    """Digits, and an MLP with four hidden layers."""
    with _job(strategy, width=width, epochs=4, rows=rows) as job:
        torch.manual_seed(0)
        hidden = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
        module = nn.Sequential(nn.Linear(64, width), nn.ReLU(), *hidden, nn.Linear(width, 10))
        torch.export.save(export_module(module, (torch.zeros(2, 64),)), job.cloud)
        yield job


def _early_ends() -> Iterator[Figure]:
    """Losses that fall exponentially or by a power, with noise."""
    for noise in (0.0, 1e-4, 1e-3):
        generator = np.random.default_rng(0)
        saved, whole, excess, flat = 0, 0, [], 0
        for _ in range(CURVES):
            epochs = int(generator.integers(20, 400))
            floor, above = generator.uniform(0.05, 1), generator.uniform(0.5, 5)
            pace = np.arange(epochs) / (epochs * np.exp(generator.normal(np.log(0.03), 0.7)))
            fall = np.exp(-pace) if generator.random() < 0.5 else (1 + pace) ** -generator.uniform(2, 4)
            curve = floor * (1 + above * fall) * (1 + noise * generator.normal(size=epochs))
            losses = curve.tolist()
            run = next((n for n in range(1, epochs) if early_end(losses[:n], epochs, 0.001)), epochs)
            excess.append(100 * (curve[:run].min() / curve.min() - 1))
            if curve[: int(0.4 * epochs)].min() <= 1.001 * curve.min():
                flat, saved, whole = flat + 1, saved + epochs - run, whole + epochs
        case = f"early end at 0.1 %, {CURVES} curves with noise of {noise:.2%}"
        yield Figure(case, "jobs within 0.1 % at 40 % of their epochs", flat / CURVES, "share", "Philly: 0.75")
        yield Figure(case, "time of these saved", saved / whole, "share", "target >= 0.5")
        goal = "target <= 0.1" if noise < 1e-3 else "no target: the noise is as large"
        yield Figure(case, "excess loss of all, 95th percentile", float(np.percentile(excess, 95)), "%", goal)
