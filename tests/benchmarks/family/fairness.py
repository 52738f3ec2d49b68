"""q-FedAvg: how much devices' accuracies differ, and what that costs on average."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np

from coterie_learning.plan import parse_plan
from tests.benchmarks.family.data import minority
from tests.benchmarks.family.holding import accuracy, hold
from tests.benchmarks.family.models import drawn, learner
from tests.benchmarks.family.settings import Fairness
from tests.benchmarks.report import Figure

ARMS = ("FedAvg", "q-FedAvg")


class Fair(NamedTuple):
    """Over devices, each counted once."""

    mean: float
    variance: float
    """Of accuracies in percent."""
    worst: float
    """Mean of the worst tenth."""


def run(fairness: Fairness, name: str, seed: int) -> Fair:
    fleet = minority(seed, devices=fairness.devices, few=fairness.minority, turned=fairness.turned)
    first = drawn(learner(40, (), 2, activation="relu", batch_size=32), seed)
    q = fairness.q if name == "q-FedAvg" else 0.0
    local = {"kind": "q_fed_avg", "q": q, "learning_rate": fairness.learning_rate}
    plan = parse_plan({"local": local, "merge": {"kind": "q_fed_avg"}})
    versions = list(hold(plan, first, fleet.train, rounds=fairness.rounds, cohort=fairness.cohort, seed=seed))[-5:]
    found = np.mean([[100 * accuracy(first, one, data) for data in fleet.test] for one in versions], axis=0)
    worst = np.sort(found)[: max(1, len(found) // 10)]
    return Fair(float(found.mean()), float(found.var()), float(worst.mean()))


def figures(fairness: Fairness, found: Mapping[str, Sequence[Fair]]) -> Iterator[Figure]:
    plain, fair = [found[name] for name in ARMS]
    variances = [mean(one.variance for one in each) for each in (plain, fair)]
    means = [mean(one.mean for one in each) for each in (plain, fair)]
    worst = [mean(one.worst for one in each) for each in (plain, fair)]
    case = "a minority: accuracy over devices"
    for place, name in enumerate(ARMS):
        targets = (None, None, None)
        if place:
            targets = (
                f"FedAvg, {variances[0]:.1f}; target ≤ {fairness.most_variance:g}×",
                f"FedAvg, {means[0]:.1f}; target: within {100 * fairness.most_lost:g} points",
                f"FedAvg, {worst[0]:.1f}",
            )
        ratio = variances[0] / variances[1] if place else None
        yield Figure(case, f"{name}, variance", variances[place], "points²", targets[0], ratio)
        yield Figure(case, f"{name}, mean", means[place], "%", targets[1])
        yield Figure(case, f"{name}, worst tenth", worst[place], "%", targets[2])
