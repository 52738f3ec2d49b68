"""Gradients by priority against gradients as the backward pass gives them: simulated networks, and a real link.

The simulation is of one worker and a parameter server, as in Peng et al. 2019 (SOSP): its line sends and receives at
once, and a piece comes back after it was sent. Layers are VGG16's and ResNet50's; order, window and credit are those
that `data_parallel` and `parameter_server` have. The real runs are `data_parallel` in two network namespaces with a
shaped link between them, and `parameter_server` in one, whose loopback interface is shaped.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from torch import nn

from coterie.cloud.priority.credit import LADDER, REST_STEPS, Credit
from coterie.cloud.priority.order import Piece, cut, static_order
from coterie.cloud.priority.window import Window
from coterie.compile.program import export_module
from tests.benchmarks.report import Figure

NO_TARGET = "no target"
MESSAGE_S = 5e-5
"""What a message costs besides its numbers."""
SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22)
"""Of pieces, in numbers; the benchmark takes the best, as an operator would choose it."""


def priority() -> Iterator[Figure]:
    """All figures."""
    yield from _simulated()
    yield from _real()
    yield from _served()


class Network(NamedTuple):
    """Layers in the order of the forward pass."""

    name: str
    target: str
    numbers: Sequence[int]
    seconds: Sequence[float]
    """Of the forward pass; the backward pass takes twice as long."""


def _network(name: str, target: str, step_s: float, layers: Sequence[tuple[int, float]]) -> Network:
    """`layers`: numbers of parameters and multiplications of each."""
    total = sum(work for _, work in layers)
    return Network(name, target, [size for size, _ in layers], [step_s / 3 * work / total for _, work in layers])


def _vgg() -> Network:
    convolutions = [
        (3, 64, 224), (64, 64, 224), (64, 128, 112), (128, 128, 112), (128, 256, 56), (256, 256, 56), (256, 256, 56),
        (256, 512, 28), (512, 512, 28), (512, 512, 28), (512, 512, 14), (512, 512, 14), (512, 512, 14),
    ]  # fmt: skip
    layers: list[tuple[int, float]] = [(9 * a * b + b, 9.0 * a * b * side**2) for a, b, side in convolutions]
    layers += [(a * b + b, float(a * b)) for a, b in ((25088, 4096), (4096, 4096), (4096, 1000))]
    return _network("VGG16", "target >= 1.5x", 0.15, layers)


def _resnet() -> Network:
    layers: list[tuple[int, float]] = [(49 * 3 * 64, 49.0 * 3 * 64 * 112**2)]
    before = 64
    for inner, outer, blocks, side in ((64, 256, 3, 56), (128, 512, 4, 28), (256, 1024, 6, 14), (512, 2048, 3, 7)):
        for block in range(blocks):
            sizes = [before * inner, 9 * inner * inner, inner * outer]
            sizes += [before * outer] if block == 0 else []
            layers += [(size, float(size * side**2)) for size in sizes]
            before = outer
    return _network("ResNet50", "target >= 1.15x", 0.1, [*layers, (2048 * 1000, 2048.0 * 1000)])


class Link(NamedTuple):
    """A worker's."""

    number_s: float
    comes_back: bool
    """A parameter server answers each piece; the all-reduce of two workers does not."""


def _step_s(network: Network, order: Sequence[Piece], credit: int, link: Link) -> float:
    """From the beginning of a backward pass to the end of the next forward pass."""
    backward = list(accumulate(2 * seconds for seconds in reversed(network.seconds)))
    sent_until, back_until = 0.0, 0.0
    window, arrived = Window(order, credit=credit), [0.0] * len(network.numbers)
    events: list[tuple[float, str, Piece]] = []
    for layer, clock in enumerate(reversed(backward)):
        heappush(events, (clock, "ready", Piece(layer, 0, 0)))
    while events:
        clock, what, piece = heappop(events)
        match what:
            case "ready":
                window.ready(piece.layer)
            case "sent" if link.comes_back:
                back_until = max(back_until, clock) + MESSAGE_S + piece.size * link.number_s
                heappush(events, (back_until, "there", piece))
            case _:
                if window.end(piece):
                    arrived[piece.layer] = clock
        for begun in window.begin():
            sent_until = max(sent_until, clock) + MESSAGE_S + begun.size * link.number_s
            heappush(events, (sent_until, "sent", begun))
    clock = backward[-1]
    for layer, seconds in enumerate(network.seconds):
        clock = max(clock, arrived[layer]) + seconds
    return clock


def _simulated() -> Iterator[Figure]:
    ways = (
        ("communication = computation", 1.0),
        ("communication = 4x computation", 4.0),
        ("communication = 1/20 of computation", 0.05),
    )
    for network in (_vgg(), _resnet()):
        for way, ratio in ways:
            for kind in ("parameter server", "all-reduce"):
                number_s = ratio * 3 * sum(network.seconds) / sum(network.numbers)
                aimed = kind == "parameter server" and ratio == 1
                target = network.target if aimed else NO_TARGET
                link = Link(number_s, waits_for_window=kind == "parameter server")
                yield from _arms(f"{network.name}, {kind}, {way}", network, link, target)


def _arms(case: str, network: Network, link: Link, target: str) -> Iterator[Figure]:
    layers = len(network.numbers)
    whole = cut(network.numbers, max(network.numbers))
    everything = sum(network.numbers)
    fifo = _step_s(network, _as_ready(whole), len(whole), link)
    ready = [2 * sum(network.seconds[layer:]) for layer in range(layers)]

    def ordered(size: int) -> list[Piece]:
        return static_order(cut(network.numbers, size), ready, link.number_s)

    pieces = min(_step_s(network, _as_ready(cut(network.numbers, size)), everything, link) for size in SIZES)
    alone = _step_s(network, static_order(whole, ready, link.number_s), everything, link)
    grid = {(size, credit): _step_s(network, ordered(size), credit, link) for size in SIZES for credit in LADDER}
    best = min(grid, key=grid.__getitem__)
    credit = Credit()
    for _ in range(REST_STEPS // 2):
        credit.step(grid[best[0], credit.pieces])
    found = grid[best[0], credit.pieces]
    arms = [(f"priority, pieces of {best[0]} numbers", found, target)]
    if target != NO_TARGET:
        arms = [("pieces as they are ready", pieces, "-"), ("priority, whole tensors", alone, "-"), *arms]
    for arm, seconds, goal in arms:
        against = f"{1e3 * fifo:.1f} ms; {goal}"
        yield Figure(f"{case}, {arm}", "time of a step", 1e3 * seconds, "ms", against, fifo / seconds)
    if target != NO_TARGET:
        above = found / grid[best] - 1
        yield Figure(f"{case}, credit found while it runs", "above the best", above, "relative", "target <= 0.1")


def _as_ready(pieces: Sequence[Piece]) -> list[Piece]:
    """The last layer first."""
    return sorted(pieces, key=lambda piece: (-piece.layer, piece.start))


WIDTH, OUT, BATCH, STEPS, EPOCHS, TURNS = 512, 3072, 1024, 10, 3, 2
LINKS = (
    (200, "communication about computation", "target >= 1.2x"),
    (20_000, "computation bounds", "target about 1x"),
)
"""Mbit/s, what that means on one slow core a worker, and what is to be gained."""


def _real() -> Iterator[Figure]:
    """Two workers on two cores: an MLP whose largest layer is its last. Runs take turns, for the machine changes."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _write_job(directory)
        for mbit, meaning, goal in LINKS:
            found: dict[str, list[_Run]] = {"buckets": [], "priority": []}
            for _ in range(TURNS):
                for arm, runs in found.items():
                    strategy = {"kind": "data_parallel", "workers": 2, "transfers": arm}
                    runs.append(_run(directory, strategy, mbit, "two_hosts"))
            if not found["buckets"][0].step_s:
                sys.stderr.write("no network namespaces here: the real link is not measured\n")
                return
            case = f"data_parallel, two namespaces, {mbit} Mbit/s, {meaning}"
            step = {arm: statistics.median(s for run in runs for s in run.step_s) for arm, runs in found.items()}
            for arm, seconds in step.items():
                against = f"buckets, {1e3 * step['buckets']:.0f} ms; {goal if arm == 'priority' else '-'}"
                ratio = step["buckets"] / seconds
                yield Figure(f"{case}, {arm}", "time of a step", 1e3 * seconds, "ms", against, ratio)
            weights = {run.weights for runs in found.values() for run in runs}
            yield Figure(case, "different weights at the end", len(weights), "", "target 1")


SERVED_MBIT = 400
"""Of a loopback interface: what two workers send and get shares it, four times the model in a step."""
SERVED: tuple[tuple[str, dict[str, object], str], ...] = (
    ("one server, at once", {"servers": 1}, "-"),
    ("two servers, at once", {"servers": 2}, "-"),
    ("two servers, priority", {"servers": 2, "transfers": "priority"}, "no target"),
)


def _served() -> Iterator[Figure]:
    """Two workers and their servers on two cores. Runs take turns, for the machine changes."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _write_job(directory)
        found: dict[str, list[_Run]] = {arm: [] for arm, _, _ in SERVED}
        for _ in range(TURNS):
            for arm, settings, _ in SERVED:
                strategy = {"kind": "parameter_server", "workers": 2, **settings}
                found[arm].append(_run(directory, strategy, SERVED_MBIT, "shaped_loopback"))
        if not found[SERVED[0][0]][0].step_s:
            sys.stderr.write("no network namespaces here: the shaped loopback is not measured\n")
            return
        case = f"parameter_server, two workers, loopback of {SERVED_MBIT} Mbit/s"
        step = {arm: statistics.median(s for run in runs for s in run.step_s) for arm, runs in found.items()}
        one = step[SERVED[0][0]]
        for arm, _, goal in SERVED:
            against = f"one server at once, {1e3 * one:.0f} ms; {goal}"
            yield Figure(f"{case}, {arm}", "time of a step", 1e3 * step[arm], "ms", against, one / step[arm])
        weights = {run.weights for runs in found.values() for run in runs}
        yield Figure(case, "different weights at the end", len(weights), "", "target 1")


def _write_job(directory: Path) -> None:
    torch.manual_seed(0)
    hidden = [layer for _ in range(6) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    torch.export.save(
        export_module(nn.Sequential(*hidden, nn.Linear(WIDTH, OUT)), (torch.zeros(2, WIDTH),)), directory / "cloud.pt2"
    )
    generator, rows = np.random.default_rng(0), BATCH * STEPS + 64
    x = generator.normal(size=(rows, WIDTH)).astype(np.float32)
    np.savez(directory / "data.npz", x=x, y=generator.integers(OUT, size=rows))


class _Run(msgspec.Struct, frozen=True):
    """What a training told."""

    step_s: tuple[float, ...] = ()
    """The mean of each of the later epochs; none where there are no namespaces."""
    weights: str = ""
    """Their SHA-256."""


def _run(directory: Path, strategy: Mapping[str, object], mbit: int, process: str) -> _Run:
    told = {"directory": str(directory), "strategy": strategy, "batch": BATCH, "epochs": EPOCHS, "mbit": mbit}
    program = [sys.executable, "-m", f"tests.benchmarks.processes.{process}", json.dumps(told)]
    inside = subprocess.run(["unshare", "-r", "-n", *program], stdout=subprocess.PIPE)
    return msgspec.json.decode(inside.stdout.splitlines()[-1], type=_Run) if inside.returncode == 0 else _Run()
