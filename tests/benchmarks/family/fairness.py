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

KINDS = ("FedAvg", "q-FedAvg")
SHARP = "labels that hardly err"
ARMS = (*KINDS, *(f"{kind}; {SHARP}" for kind in KINDS))


class Fair(NamedTuple):
    """Over devices, each counted once."""

    mean: float
    variance: float
    """Of accuracies in percent."""
    worst: float
    """Mean of the worst tenth of devices."""


def run(fairness: Fairness, name: str, seed: int) -> Fair:
    kind, _, regime = name.partition("; ")
    noise = fairness.sharp_noise if regime else fairness.label_noise
    fleet = minority(seed, devices=fairness.devices, few=fairness.minority, turned=fairness.turned, label_noise=noise)
    first = drawn(learner(40, (), 2, activation="relu", batch_size=32), seed)
    q = fairness.q if kind == "q-FedAvg" else 0.0
    local = {"kind": "q_fed_avg", "q": q, "learning_rate": fairness.learning_rate}
    plan = parse_plan({"local": local, "merge": {"kind": "q_fed_avg"}})
    versions = list(hold(plan, first, fleet.train, rounds=fairness.rounds, cohort=fairness.cohort, seed=seed))[-5:]
    found = np.mean([[100 * accuracy(first, one, data) for data in fleet.test] for one in versions], axis=0)
    worst = np.sort(found)[: max(1, len(found) // 10)]
    return Fair(float(found.mean()), float(found.var()), float(worst.mean()))


def figures(fairness: Fairness, found: Mapping[str, Sequence[Fair]]) -> Iterator[Figure]:
    lost = f"; target: within {100 * fairness.most_lost:g} points"
    yield from _of_regime(found, "", f"; target ≤ {fairness.most_variance:g}×", lost)
    yield from _of_regime(found, f"; {SHARP}", "", "; control: expected to lose more")


def _of_regime(found: Mapping[str, Sequence[Fair]], regime: str, varies: str, costs: str) -> Iterator[Figure]:
    plain, fair = [found[f"{kind}{regime}"] for kind in KINDS]
    case = f"a minority{regime}: accuracy over devices"
    for what, unit, claim in (("variance", "points²", varies), ("mean", "%", costs), ("worst", "%", "")):
        theirs, ours = (mean(getattr(one, what) for one in each) for each in (plain, fair))
        ratio = theirs / ours if what == "variance" else None
        yield Figure(case, f"FedAvg, {what}", theirs, unit)
        yield Figure(case, f"q-FedAvg, {what}", ours, unit, f"FedAvg, {theirs:.1f}{claim}", ratio)
