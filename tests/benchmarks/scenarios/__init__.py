"""Presets on shipped scenarios, as ``coterie simulate PLAN --scenario S --seed N`` runs them, on several seeds.

Accuracy is that on each batch before it is learned. `settings.toml` says which plans are compared with which.
"""

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import msgspec

from coterie.simulation.contenders import Contender, parse_contender, shipped_contenders
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import read_scenario, read_toml
from coterie.simulation.simulate import simulate
from tests.benchmarks.report import Figure


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Plans that are compared on one scenario."""

    scenario: str
    plans: tuple[str, ...]
    against: str
    """The plan among them with which the others are compared."""
    devices: int | None = None
    """None: the scenario's."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seeds: tuple[int, ...]
    plans: Mapping[str, Mapping[str, object]]
    """Presets with changes; any other name is a preset's own."""
    tables: tuple[Table, ...]


class Job(NamedTuple):
    """One simulation."""

    table: Table
    plan: str
    seed: int


class Accuracies(NamedTuple):
    """Of one simulation, over its devices."""

    mean: float
    worst_decile: float
    second_half: float
    """Mean over the second half of the batches, when the first rounds' learning is over."""


Found = Mapping[Job, Accuracies]


def measure() -> list[Figure]:
    settings, found = read_settings(), dict[Job, Accuracies]()
    jobs = planned(settings)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        for job, one in zip(jobs, pool.map(run, jobs), strict=True):
            found[job] = one
            sys.stderr.write(f"{job.table.scenario}, {job.plan}, seed {job.seed}: {one.mean:.3f}\n")
    return [figure for table in settings.tables for figure in figures(table, settings.seeds, found)]


def read_settings() -> Settings:
    content = Path(__file__).with_name("settings.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(content), Settings)


def planned(settings: Settings) -> list[Job]:
    return [Job(table, plan, seed) for table in settings.tables for plan in table.plans for seed in settings.seeds]


def run(job: Job) -> Accuracies:
    scenario = read_scenario(job.table.scenario)
    devices = job.table.devices or scenario.devices
    outcome = simulate(_contender(job.plan), scenario, devices=devices, seed=job.seed, report=unreported)
    return Accuracies(outcome.accuracy.mean, outcome.accuracy.worst_decile, _second_half(outcome))


def _contender(name: str) -> Contender:
    changed = dict(read_settings().plans.get(name, {"preset": name}))
    raw = msgspec.convert(read_toml(shipped_contenders()[str(changed.pop("preset"))]), dict[str, object])
    return parse_contender({**raw, **changed}, path=name)


def _second_half(outcome: SimulationOutcome) -> float:
    shares = []
    for device in outcome.devices:
        half = len(device.samples) // 2
        if sum(device.samples[half:]):
            shares.append(sum(device.correct[half:]) / sum(device.samples[half:]))
    return mean(shares)


def figures(table: Table, seeds: Sequence[int], found: Found) -> Iterator[Figure]:
    """Of each plan, and by how many points it is better than what it is compared with, seed by seed."""
    for plan in table.plans:
        own = [found[Job(table, plan, seed)] for seed in seeds]
        base = [found[Job(table, table.against, seed)] for seed in seeds]
        for number, metric in enumerate(("mean of devices", "worst tenth", "mean of the second half")):
            pairs = [(one[number], other[number]) for one, other in zip(own, base, strict=True)]
            accuracy, against = (mean(pair[at] for pair in pairs) for at in (0, 1))
            points = _spread([100 * (one - other) for one, other in pairs])
            yield Figure(
                f"{table.scenario}, {plan}",
                metric,
                accuracy,
                f"{_spread([one for one, _ in pairs])}; {points} points",
                f"{table.against}, {against:.3f}",
                accuracy / against,
            )


def _spread(values: Sequence[float]) -> str:
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"
