"""Simulated fleets: client-rounds for each second of the processor, side by side and one by one, and a large fleet.

A client-round is one device's part in a round, from its samples to the sum: 5 or 6 steps of 20 digits.
"""

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch

from coterie.compile.compiled import CompiledModel
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from coterie.simulation.bodies import Body, compile_body, export_body
from coterie.simulation.fleet.block import Base, Block, Member, encode_version
from coterie.simulation.fleet.drifts.introduced import Introduced
from coterie.simulation.fleet.events import EventsRun, simulate_events
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.population import Drawn
from coterie.simulation.fleet.profile import FleetProfile, read_profile
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.fleet.side_by_side import SideBySide
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits.dirichlet import Dirichlet
from coterie.simulation.fleet.splits.iid import Iid
from coterie.simulation.fleet.work import Work
from coterie.simulation.learner import Task
from coterie.simulation.on_device import Graphs
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Habits
from coterie_learning.plan import parse_plan
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.benchmarks import simulation_peers
from tests.benchmarks.report import Figure

PLAN = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.1},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 1000, "min_updates": 500, "deadline_s": 3600, "pause_s": 4500},
}
"""Rounds that are spread over the week."""
ALONE = {"local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.3}, "pace": {"kind": "alone"}}
HELPS = {"each by itself": {"kind": "none"}, "help": {"kind": "cartel", "helper_recall": 0.5, "helper_error": 0.5}}
TASK = Task((TensorSpec("x", "float32", (1, 8, 8)),), 10)
EACH = 125
"""Samples of a device, of which it trains on about 100."""
REPEATS = 5
LARGE, DAYS, ROUNDS = 100_000, 7.0, 100
MILLION = 1_000_000
OVER_TIME, COMING = 200, 100
"""Devices to which samples come over time, and batches of each."""


class Way(NamedTuple):
    """One model, one codec."""

    body: Body
    codec: str
    target: str
    devices: int


WAYS = (
    Way("mlp", "float32", "target >= 10,000", 512),
    Way("cnn", "float32", "target >= 1,200", 128),
    Way("mlp", "int8", "encoded device by device", 128),
)


def measure() -> list[Figure]:
    figures = [figure for way in WAYS for figure in _rates(way)]
    return [*figures, *_over_time(), *_start(), *simulation_peers.measure(), *_large(), *_million()]


def _over_time() -> Iterator[Figure]:
    """Devices to which samples come: each predicts a batch and trains on it; some meet a class that is new to them."""
    images, labels = read_digits()
    compiled = _compiled("mlp")
    for name, help_ in HELPS.items():
        run = FleetRun(
            plan=parse_plan({**ALONE, "help": help_}),
            model=Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict),
            parameters=compiled.parameters,
            samples=FleetSamples(Dataset({"x": images}, labels), {}),
            split=Iid(),
            devices=OVER_TIME,
            each=COMING * compiled.spec.batch_size,
            drift=Introduced(0.3),
            days=DAYS,
        )
        began_s = time.process_time()
        outcome = simulate_fleet(run, report=unreported)
        rate = OVER_TIME * COMING / (time.process_time() - began_s)
        what = f"{name}, {OVER_TIME:,} devices to which {COMING} batches come"
        took = [one.batches for one in outcome.recoveries if one.batches is not None]
        yield Figure(what, "batches met", rate, "a CPU-second")
        yield Figure(what, "accuracy before devices learn", outcome.accuracy, "of 1")
        yield Figure(what, "introductions recovered from", len(took), f"of {len(outcome.recoveries)}")
        yield Figure(what, "batches until then", sum(took) / max(1, len(took)), "in the mean")


class Took(NamedTuple):
    """What a process took, with its children."""

    cpu_s: float
    wall_s: float


def _start() -> Iterator[Figure]:
    """`coterie simulate` to the end of its first round, which is little: a new model each time, and one it knows."""
    images, labels = read_digits()
    new, known = list[Took](), list[Took]()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        program = export_body(TASK, body="mlp", hidden=32, seed=0)
        torch.export.save(program, directory / "device.pt2")
        np.savez(directory / "samples.npz", x=images, y=labels)
        for number in range(REPEATS):
            for took in (new, known):
                took.append(_took(directory, home=directory / str(number)))
    for what, every in (("a model that is new", new), ("one that was compiled before", known)):
        cpu_s, wall_s = (min(column) for column in zip(*every, strict=True))
        yield Figure(f"start to first round, {what}", "processor", cpu_s, "s", "target <= 5 s")
        yield Figure(f"start to first round, {what}", "wall time", wall_s, "s", "target <= 5 s")


def _took(directory: Path, *, home: Path) -> Took:
    """One round of some of a hundred devices."""
    asked = ["fedavg", "--pair", "device.pt2", "--data", "samples.npz", "--split", "iid", "--devices", "100"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie", "simulate", *asked, "--rounds", "1", "--workers", "1"],
        cwd=directory,
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Took(usage.ru_utime + usage.ru_stime, time.perf_counter() - started)


def _million() -> Iterator[Figure]:
    """A week of a million phones as events, in a process of its own."""
    content = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.simulation", "million"], check=True, capture_output=True
    ).stdout
    found = msgspec.json.decode(content, type=Million)
    name = f"{MILLION:,} phones, events alone, {found.days:.1f} days"
    yield Figure(name, "wall time", found.wall_s, "s", "target <= 600 s")
    yield Figure(name, "processor", found.cpu_s, "s")
    yield Figure(name, "memory", found.memory_mb, "MB")
    yield Figure(name, "rounds of 1,000 merged", found.merged, f"of {found.rounds}")
    yield Figure(name, "a round, middle", found.round_s, "s")
    yield Figure(name, "parts in time", found.in_time, "of 1")
    yield Figure(name, "ready, at most", found.ready, "of 1")
    yield Figure(name, "check-ins, at most", found.check_ins, "a second")
    yield Figure(name, "of these, because conditions change", found.changes, "a second")
    yield Figure(name, "bytes to devices, at most", found.down_mb_s, "MB/s")
    yield Figure(name, "cores for check-ins and assignments, at most", found.web_cores, "cores")


def _rates(way: Way) -> Iterator[Figure]:
    """Best of some runs, the two ways in turn: other work on the machine only slows them down."""
    setting, parameters = _setting(way)
    spec = setting.graphs.spec
    name = f"{way.body}, {sum(one.size for one in parameters.values()):,} parameters, {way.codec}"
    side_by_side = SideBySide.of(setting.plan, spec, setting.graphs.train_step, most_steps=6)
    together, alone = Work(setting, side_by_side), Work(setting, None)
    with tempfile.TemporaryDirectory() as directory:
        version = Path(directory, "version")
        version.write_bytes(encode_version(Base(parameters, {})))
        pairs = [
            (_rate(together, version, way.devices, side_by_side.devices), _rate(alone, version, way.devices // 8, 32))
            for _ in range(REPEATS)
        ]
    best, slow = max(one for one, _ in pairs), max(one for _, one in pairs)
    against = f"one by one, {slow:,.0f}; {way.target}"
    yield Figure(name, "side by side", best, "client-rounds a CPU-second", against, best / slow)


def _rate(work: Work, version: Path, devices: int, size: int) -> float:
    blocks = [
        Block(0, 1, str(version), [Member(one, 99, 100) for one in range(at, min(at + size, devices))], False, False)
        for at in range(0, devices, size)
    ]
    started = time.process_time()
    for block in blocks:
        work.train(block)
    return devices / (time.process_time() - started)


def _setting(way: Way) -> tuple[Setting, Tensors]:
    images, labels = read_digits()
    compiled = _compiled(way.body)
    mixes = Dirichlet(0.3).mixes(labels, classes=10, devices=way.devices, rng=np.random.default_rng(0))
    setting = Setting(
        plan=parse_plan({**PLAN, "codec": {"kind": way.codec}}),
        graphs=Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict),
        data=Dataset({"x": images}, labels),
        population=Drawn.from_mixes(mixes, labels, each=EACH, seed=0),
        seed=0,
    )
    return setting, compiled.parameters


def _compiled(body: Body) -> CompiledModel:
    return compile_body(TASK, body=body, hidden=32, batch_size=20, seed=0)


def _large(rounds: int = ROUNDS) -> Iterator[Figure]:
    """The whole simulation in a process of its own, whose memory is its own too; workers are its children."""
    name = f"{LARGE:,} devices, {rounds} rounds of 1,000"
    found = {}
    for workers in (1, 2):
        content = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.simulation", str(workers), str(rounds)],
            check=True,
            capture_output=True,
        ).stdout
        found[workers] = msgspec.json.decode(content, type=Large)
    one, two = found[1], found[2]
    yield Figure(name, "wall time, 1 worker", one.wall_s, "s", "target <= 300 s of two quiet cores")
    yield Figure(
        name, "wall time, 2 workers", two.wall_s, "s", f"1 worker, {one.wall_s:.0f} s", one.wall_s / two.wall_s
    )
    yield Figure(name, "processor, 1 worker", one.cpu_s, "s")
    yield Figure(name, "client-rounds, the rest of it included", one.client_rounds / one.cpu_s, "a CPU-second")
    for workers, large in found.items():
        yield Figure(
            name, f"memory, workers: {workers}, the largest process", large.memory_mb, "MB", "target <= 2,000 MB"
        )
    yield Figure(name, "outcomes with other bytes for 2 workers", float(one.sha256 != two.sha256), "of 1", "target 0")
    yield Figure(name, "accuracy", one.accuracy, "of 1")
    yield Figure(name, "rounds held", one.rounds, f"of {rounds}")


class Large(msgspec.Struct):
    """What a process tells of the large fleet."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    sha256: str
    client_rounds: int
    rounds: int
    accuracy: float


class Million(msgspec.Struct):
    """What a process tells of a million devices."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    days: float
    rounds: int
    merged: int
    round_s: float
    in_time: float
    ready: float
    check_ins: float
    changes: float
    down_mb_s: float
    web_cores: float


def _events() -> Million:
    plan = parse_plan({"pace": PLAN["pace"]})
    run = EventsRun(plan=plan, devices=MILLION, fleet=read_profile("phones"), days=DAYS)
    started = time.perf_counter()
    found = simulate_events(run, report=unreported)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Million(
        time.perf_counter() - started,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        found.simulated_s / 86_400,
        found.rounds,
        found.merged,
        found.duration_s[1],
        found.delivered / max(1, found.asked),
        found.ready_share.largest,
        found.check_ins.largest,
        found.changes.largest,
        found.down_bytes_s.largest / 1e6,
        found.web_cores.largest,
    )


def _held(workers: int, rounds: int) -> Large:
    images, labels = read_digits()
    compiled = _compiled("mlp")
    run = FleetRun(
        plan=parse_plan(PLAN),
        model=Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict),
        parameters=compiled.parameters,
        samples=FleetSamples(Dataset({"x": images}, labels), {}),
        split=Dirichlet(0.3),
        devices=LARGE,
        each=EACH,
        rounds=rounds,
        days=DAYS,
        workers=workers,
        fleet=FleetProfile(habits=Habits(charging=(21.0, 8.0), spread_h=6.0)),
    )
    started = time.perf_counter()
    outcome = simulate_fleet(run, report=unreported)
    wall_s = time.perf_counter() - started
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Large(
        wall_s,
        sum(usage.ru_utime + usage.ru_stime for usage in usages),
        max(usage.ru_maxrss for usage in usages) / 1024,
        hashlib.sha256(outcome.json()).hexdigest(),
        outcome.client_rounds,
        sum(one.outcome == "merged" for one in outcome.rounds),
        outcome.accuracy,
    )


if __name__ == "__main__":
    is_million = sys.argv[1] == "million"
    sys.stdout.buffer.write(msgspec.json.encode(_events() if is_million else _held(*map(int, sys.argv[1:]))))
