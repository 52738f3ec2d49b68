"""The federated family whose merges need sums alone, each against FedAvg, with the regimes in which it loses.

Devices, codecs and merges are those of production, in rounds without a clock; the settings stand in settings.toml, and
are the same for all seeds. The devices that are asked are the same in every arm.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from tests.benchmarks.family import fairness, personal, skew, stragglers, tasks
from tests.benchmarks.family.settings import Settings, read_settings
from tests.benchmarks.report import Figure


class Job(NamedTuple):
    """One arm on one seed."""

    part: str
    arm: str
    seed: int


def measure() -> list[Figure]:
    settings = read_settings()
    arms = {
        "skew": [*settings.skew.arms, *settings.skew.controls],
        "stragglers": stragglers.ARMS,
        "fairness": fairness.ARMS,
        "personal": personal.ARMS,
        "tasks": [*tasks.ARMS, *tasks.CONTROLS],
    }
    jobs = [Job(part, arm, seed) for part, names in arms.items() for arm in names for seed in settings.seeds]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        done = dict(zip(jobs, pool.map(_run, jobs), strict=True))

    def found(part: str) -> Mapping[str, list[object]]:
        return {arm: [done[Job(part, arm, seed)] for seed in settings.seeds] for arm in arms[part]}

    return [
        *stragglers.figures(settings.stragglers, found("stragglers")),  # type: ignore[arg-type]
        *fairness.figures(settings.fairness, found("fairness")),  # type: ignore[arg-type]
        *personal.figures(settings.personal, found("personal")),  # type: ignore[arg-type]
        *skew.figures(settings.skew, found("skew")),  # type: ignore[arg-type]
        *tasks.figures(settings.tasks, found("tasks")),  # type: ignore[arg-type]
    ]


def _run(job: Job) -> object:
    settings: Settings = read_settings()
    runs: Mapping[str, Callable[[], object]] = {
        "skew": lambda: skew.run(settings.skew, job.arm, job.seed),
        "stragglers": lambda: stragglers.run(settings.stragglers, job.arm, job.seed),
        "fairness": lambda: fairness.run(settings.fairness, job.arm, job.seed),
        "personal": lambda: personal.run(settings.personal, job.arm, job.seed),
        "tasks": lambda: tasks.run(settings.tasks, job.arm, job.seed),
    }
    return runs[job.part]()
