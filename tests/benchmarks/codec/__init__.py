"""Codecs: how quickly they encode, and what a model learns with them for how many bytes.

The settings stand in settings.toml. Every seed deals the samples, begins the model and asks devices alike for all
codecs, so that accuracies are compared seed by seed.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev

import msgspec

from tests.benchmarks.codec.rounds import Run, Setting, run
from tests.benchmarks.codec.speed import speeds
from tests.benchmarks.report import Figure

PLAIN = "float32"


class Contender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A codec, and how many times fewer bytes than float32 are claimed of it."""

    codec: dict[str, object]
    local: dict[str, object] = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    """How devices learn; the steps and their size are the setting's."""
    down: dict[str, object] = msgspec.field(default_factory=lambda: {"kind": "whole"})
    """How versions travel to the devices."""
    least_ratio: float | None = None
    """Of what is sent up."""
    least_round_trip_ratio: float | None = None
    """Of what is sent up and down."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of settings.toml."""

    seeds: tuple[int, ...]
    most_lost_points: float
    setting: Setting
    contenders: Mapping[str, Contender]


def measure() -> list[Figure]:
    """First what takes seconds, then the rounds."""
    settings = _settings()
    # Workers by "spawn", so that none inherits threads of a runtime; one a seed, whose model is compiled once.
    with ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=get_context("spawn")) as pool:
        by_seed = list(pool.map(_of_seed, settings.seeds))
    runs = {name: [of_seed[name] for of_seed in by_seed] for name in settings.contenders}
    return [*speeds(), *(figure for name in runs for figure in _figures(settings, name, runs))]


def _settings() -> Settings:
    return msgspec.convert(tomllib.loads(Path(__file__).with_name("settings.toml").read_text()), Settings)


def _of_seed(seed: int) -> Mapping[str, Run]:
    settings = _settings()
    return {
        name: run(settings.setting, contender.local, contender.codec, contender.down, seed=seed)
        for name, contender in settings.contenders.items()
    }


def _figures(settings: Settings, name: str, runs: Mapping[str, Sequence[Run]]) -> Iterator[Figure]:
    case, found, plain = f"rounds, {name}", runs[name], runs[PLAIN]
    accuracies = [100 * one.accuracy for one in found]
    lost = [100 * (other.accuracy - one.accuracy) for one, other in zip(found, plain, strict=True)]
    size_bytes, plain_bytes = (mean(one.update_bytes for one in ones) for ones in (found, plain))
    claimed = settings.contenders[name].least_ratio
    target = f"float32, {plain_bytes:,.0f} bytes" + (f"; target >= {claimed:g}" if claimed else "")
    yield Figure(case, "accuracy", mean(accuracies), f"% ± {stdev(accuracies):.2f}")
    yield Figure(case, "lost", mean(lost), f"points ± {stdev(lost):.2f}", f"target <= {settings.most_lost_points:g}")
    yield Figure(case, "an update", size_bytes, "bytes", target, plain_bytes / size_bytes)
    least, most = min(one.least_bytes for one in found), max(one.most_bytes for one in found)
    yield Figure(case, "updates between", least, f"and {most:,} bytes")
    both, plain_both = (mean(one.update_bytes + one.down_bytes for one in ones) for ones in (found, plain))
    claimed = settings.contenders[name].least_round_trip_ratio
    target = f"float32, {plain_both:,.0f} bytes" + (f"; target >= {claimed:g}" if claimed else "")
    yield Figure(case, "up and down", both, "bytes", target, plain_both / both)
