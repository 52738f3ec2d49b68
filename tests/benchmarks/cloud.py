"""Strategies of training in the cloud: what they gain, and where they lose.

AdaComm runs on a simulated clock: a step of all workers takes 1, an averaging 10; the rule is the strategy's own, the
network and its gradients are NumPy's. Gradient coding and the hooks run in real processes on this machine. Settings are
those of the papers' reproductions, fixed before the runs; every line of a group has the same seeds.
"""

import asyncio
import multiprocessing
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.exchange.frames import Frame, largest
from coterie.cloud.exchange.server import SECRET, WORKER
from coterie.cloud.exchange.worker import Shares, answer_all
from coterie.cloud.exchanged import Master
from coterie.cloud.gradient_code import GradientCode, cyclic_code, plain_code, repetition_code
from coterie.cloud.learner import Learner
from coterie.cloud.strategy.local_sgd import LocalSgd
from coterie.compile.program import export_module
from tests.benchmarks.report import Figure

WORKERS, BATCH, RATE, HORIZON, AVERAGING = 4, 8, 0.1, 8000.0, 10.0
LATE_S = 0.3
SEEDS = (0, 1, 2)


def measure() -> list[Figure]:
    """All figures."""
    return [*_periods(), *_codes(), *_late(), *_hooks()]


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
            whole = shares.layout.gather(learner.backward(next(learner.batches(0))))
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

    def answer(frame: Frame) -> bytes:
        time.sleep(late_s)
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
        secret = secrets.token_hex(8)
        port = runner.run(master.open(secret))
        processes = [
            spawn.Process(target=_answer, args=(job, workers, n, port, secret, late_s if n == 0 else 0.0), daemon=True)
            for n in range(workers)
        ]
        for process in processes:
            process.start()
        runner.run(master.synchronous_epoch(0))  # until all are there
        begun = time.perf_counter()
        runner.run(master.synchronous_epoch(1))
        steps = len(list(master.learner.batches(1)))
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
