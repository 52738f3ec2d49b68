"""Colla against learning alone, centralised learning and FedAvg: accuracy of the last cycle, groups, bytes.

Every simulation runs through the engine of ``coterie simulate``; the settings stand in settings.toml. Accuracy is that
of a device on the last cycle's visits, each predicted before it is learned from.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import msgspec

from coterie.evaluation.device_accuracy import DeviceAccuracy
from coterie.simulation.contenders import parse_contender
from coterie.simulation.outcome import SimulationOutcome, summary
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import parse_scenario, read_toml, shipped_scenarios
from coterie.simulation.simulate import simulate
from tests.benchmarks.report import Figure

CYCLE_DAYS = 20
GROUPS = 3


class Contender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plan: dict[str, object]
    scratch: bool = False
    """Whether devices begin with random parameters instead of the cloud's."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stream: dict[str, object] = {}
    """Changes to the shipped scenario."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seeds: tuple[int, ...]
    best_of: tuple[str, ...]
    least_ratio: float
    least_grouped_share: float
    scenarios: Mapping[str, Scenario]
    contenders: Mapping[str, Contender]
    arms: Mapping[str, tuple[str, ...]]


class Run(NamedTuple):
    """One simulation's figures."""

    accuracy: DeviceAccuracy
    size_bytes: int
    groups: int
    pure: bool


Runs = Mapping[tuple[str, str], Sequence[Run]]
"""One of each seed, by scenario and contender."""


def measure() -> list[Figure]:
    settings = msgspec.convert(
        tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8")), Settings
    )
    arms = [(place, name) for place, names in settings.arms.items() for name in names]
    jobs = [
        (settings.scenarios[place], settings.contenders[name], seed) for place, name in arms for seed in settings.seeds
    ]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        results = iter(list(pool.map(_run, *zip(*jobs, strict=True))))
    runs = {arm: [next(results) for _ in settings.seeds] for arm in arms}
    return [*_scarce(settings, runs), *_groups(settings, runs), *_fedavg(runs), *_plentiful(settings, runs)]


def _run(scenario: Scenario, contender: Contender, seed: int) -> Run:
    raw = msgspec.convert(read_toml(shipped_scenarios()["places"]), dict[str, object])
    stream = msgspec.convert(raw["stream"], dict[str, object])
    raw["stream"] = {**stream, **scenario.stream}
    if contender.scratch:
        del raw["bootstrap"]
    parsed = parse_scenario(raw, path="places")
    outcome = simulate(
        parse_contender(contender.plan, path="settings.toml"),
        parsed,
        devices=parsed.devices,
        seed=seed,
        report=unreported,
    )
    return _figures(outcome, groups=int(str(raw["stream"]["groups"])))


def _figures(outcome: SimulationOutcome, *, groups: int) -> Run:
    last = [(sum(one.correct[-CYCLE_DAYS:]), sum(one.samples[-CYCLE_DAYS:])) for one in outcome.devices]
    found = outcome.splits[-1].groups if outcome.splits else {}
    members: dict[int, set[int]] = {}
    for name, group in found.items():
        members.setdefault(group, set()).add(int(name.rpartition("-")[2]) % groups)
    return Run(
        accuracy=summary([correct / samples for correct, samples in last if samples]),
        size_bytes=sum(outcome.bytes_by_kind.values()),
        groups=len(members),
        pure=all(len(true) == 1 for true in members.values()),
    )


def _scarce(settings: Settings, runs: Runs) -> Iterator[Figure]:
    yield from _against_best(settings, runs, "scarce", f"target ≥ {settings.least_ratio:.2f}×")


def _plentiful(settings: Settings, runs: Runs) -> Iterator[Figure]:
    yield from _against_best(settings, runs, "plentiful", "trap: expected less than is claimed")


def _against_best(settings: Settings, runs: Runs, place: str, target: str) -> Iterator[Figure]:
    case = f"{place}: median device"
    medians = {name: [run.accuracy.median for run in runs[place, name]] for name in settings.arms[place]}
    for name, values in medians.items():
        yield Figure(case, name, mean(values), f"± {stdev(values):.3f}")
    best = max(settings.best_of, key=lambda name: mean(medians[name]))
    ratios = [ours / theirs for ours, theirs in zip(medians["Colla"], medians[best], strict=True)]
    won = f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)} seeds won"
    ratio = mean(medians["Colla"]) / mean(medians[best])
    yield Figure(case, f"Colla against {best}", mean(medians["Colla"]), won, against=target, ratio=ratio)


def _groups(settings: Settings, runs: Runs) -> Iterator[Figure]:
    for place, true in (("daily", GROUPS), ("scarce", GROUPS), ("alike", 1)):
        found = runs[place, "Colla"]
        right = sum(run.groups == true and run.pure for run in found)
        counts = ", ".join(str(run.groups) for run in found)
        target = f"target ≥ {settings.least_grouped_share:.0%}" if place == "daily" else None
        if place == "alike":
            target = "control: one behaviour is one group"
        metric = f"true number of groups ({true}) found and pure; found {counts}"
        yield Figure(f"{place}: groups", metric, right, f"of {len(found)} seeds", against=target)


def _fedavg(runs: Runs) -> Iterator[Figure]:
    for place, note in (("scarce", None), ("alike", "control: one behaviour, where one model fits all")):
        ours, theirs = runs[place, "Colla"], runs[place, "FedAvg"]
        for metric in ("mean", "worst_decile"):
            values, others = ([getattr(run.accuracy, metric) for run in found] for found in (ours, theirs))
            against = f"FedAvg, {mean(others):.3f} ± {stdev(others):.3f}" + (f"; {note}" if note else "")
            ratio = mean(values) / mean(others) if mean(others) else None
            case = f"{place}: {metric.replace('_', ' ')} of devices"
            yield Figure(case, "Colla", mean(values), f"± {stdev(values):.3f}", against=against, ratio=ratio)
        sizes = [mean(run.size_bytes for run in found) for found in (ours, theirs)]
        against = f"FedAvg, {sizes[1]:,.0f} B"
        yield Figure(f"{place}: everything sent", "Colla", sizes[0], "B", against=against, ratio=sizes[1] / sizes[0])
