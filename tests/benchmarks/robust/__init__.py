"""Robust merges: what each loses to each attack, where each breaks, how quickly they merge and in how much memory."""

import os
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import get_context
from statistics import mean
from typing import NamedTuple

from tests.benchmarks.report import Figure
from tests.benchmarks.robust import speed
from tests.benchmarks.robust.arms import SETTINGS, Arm, Found, run
from tests.benchmarks.robust.attacks import ATTACKS

MEAN = "mean"
RULES: Mapping[str, tuple[tuple[str, object], ...]] = {
    MEAN: (("kind", "fed_avg"), ("weight_by", "uniform")),
    "median": (("kind", "median"),),
    "trimmed mean": (("kind", "trimmed_mean"),),
    "Krum": (("kind", "krum"), ("merges", "best")),
    "multi-Krum": (("kind", "krum"),),
    "geometric median": (("kind", "geometric_median"),),
    "norm bound": (("kind", "norm_bound"),),
    "trusted root": (("kind", "trusted_root"),),
}
CLAIMED = ("median", "trimmed mean", "multi-Krum", "geometric median", "trusted root")
"""Those of which at most three points of accuracy may be lost, near IID and with a fifth attacking."""
POINTS = 3.0
FIFTH, TWO_FIFTHS = 5, 10


class Table(NamedTuple):
    """Every rule under every attack."""

    split: str
    hostile: int
    attacks: Sequence[str]


TABLES = (
    Table("near IID", FIFTH, ("none", *ATTACKS)),
    Table("skewed", FIFTH, ("none", *ATTACKS)),
    Table("near IID", TWO_FIFTHS, ("flip", "inner product", "ALIE", "labels")),
    Table("skewed", TWO_FIFTHS, ("flip", "inner product", "ALIE", "labels")),
)


def arms_of(table: Table) -> Sequence[Arm]:
    """One for each rule and attack, and the mean as production has it: behind the admission of updates."""
    rules = [(name, False) for name in RULES] + [(MEAN, True)]
    return [
        Arm(RULES[name], table.split, table.hostile if attack != "none" else 0, attack, admits)
        for name, admits in rules
        for attack in table.attacks
    ]


def measure() -> list[Figure]:
    tasks = [(arm, seed) for table in TABLES for arm in arms_of(table) for seed in SETTINGS.seeds]
    found: dict[Arm, list[Found]] = {}
    for (arm, _), result in zip(tasks, run_all(tasks), strict=True):
        found.setdefault(arm, []).append(result)
    return [*(figure for arm, results in found.items() for figure in figures_of(arm, results, found)), *speed.measure()]


def run_all(tasks: Sequence[tuple[Arm, int]]) -> Sequence[Found]:
    """Each run, in as many processes as there are cores."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with get_context("spawn").Pool(len(os.sched_getaffinity(0))) as pool:
        return pool.starmap(run, tasks, chunksize=1)


def named(arm: Arm) -> str:
    """The rule's name in the table."""
    name = next(name for name, merge in RULES.items() if merge == arm.merge)
    return f"{name} behind the admission" if arm.admits else name


def figures_of(arm: Arm, results: Sequence[Found], found: Mapping[Arm, Sequence[Found]]) -> Iterator[Figure]:
    """Accuracy against that without attack, backdoors that worked, and who was left out."""
    case = f"{arm.split}, {arm.hostile} of {SETTINGS.devices} {arm.attack}, {named(arm)}"
    value = mean(one.accuracy for one in results)
    if not arm.hostile:
        yield Figure(case, "accuracy", value, "%")
        return
    quiet = mean(one.accuracy for one in found[arm._replace(hostile=0, attack="none")])
    claimed = arm.split == "near IID" and arm.hostile == FIFTH and named(arm) in CLAIMED
    against = f"no attack, {quiet:.1f} %" + (f"; target >= {quiet - POINTS:.1f} %" if claimed else "")
    yield Figure(case, "accuracy", value, "%", against=against, ratio=value / quiet)
    if ATTACKS[arm.attack].has_trigger:
        yield Figure(case, "backdoor", mean(one.success for one in results), "% of images")
    if any(one.hostile_left_out or one.honest_left_out for one in results):
        yield Figure(
            case,
            "hostile updates left out",
            mean(one.hostile_left_out for one in results),
            "%",
            against=f"honest ones, {mean(one.honest_left_out for one in results):.1f} %",
        )
        yield Figure(
            case,
            "hostile updates named",
            mean(one.hostile_named for one in results),
            "%",
            against=f"honest ones, {mean(one.honest_named for one in results):.1f} %",
        )
