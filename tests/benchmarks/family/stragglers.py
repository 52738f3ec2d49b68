"""FedProx with partial work against FedAvg that drops whoever is late, where nine of ten devices are."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev

from coterie_learning.client.order import HELD_OUT_SHARE, split, steps_per_epoch
from coterie_learning.plan import parse_plan
from coterie_learning.random import derive_seed
from tests.benchmarks.family.data import synthetic
from tests.benchmarks.family.holding import Steps, accuracy, hold
from tests.benchmarks.family.models import drawn, learner
from tests.benchmarks.family.settings import Stragglers
from tests.benchmarks.report import Figure

BATCH = 10
ARMS = ("FedAvg that drops them", "partial work, mu = 0", "FedProx")


def run(stragglers: Stragglers, name: str, seed: int) -> float:
    """Mean accuracy of the last five rounds."""
    fleet = synthetic(seed, devices=stragglers.devices, alpha=1, beta=1, most=stragglers.most_samples)
    first = drawn(learner(60, (), 10, activation="relu", batch_size=BATCH), seed)
    mu = stragglers.mu if name == "FedProx" else 0.0
    local = {"kind": "prox", "epochs": stragglers.epochs, "learning_rate": stragglers.learning_rate, "mu": mu}
    steps = _time(stragglers, seed, drops=name == ARMS[0])
    versions = list(
        hold(
            parse_plan({"local": local}),
            first,
            fleet.train,
            rounds=stragglers.rounds,
            cohort=stragglers.cohort,
            seed=seed,
            steps=steps,
        )
    )
    weights = [len(data.labels) for data in fleet.test]

    def right(version: int) -> float:
        shares = (accuracy(first, versions[version], data) for data in fleet.test)
        return sum(share * weight for share, weight in zip(shares, weights, strict=True)) / sum(weights)

    return mean(right(-last) for last in range(1, 6))


def _time(stragglers: Stragglers, seed: int, *, drops: bool) -> Steps:
    """The same devices are late in the same rounds in every arm."""

    def steps(number: int, device: int, samples: int) -> int | None:
        draw = derive_seed(seed, "late", number, device)
        if draw % 1000 >= 1000 * stragglers.share:
            return None
        epochs = 1 + draw // 1000 % stragglers.epochs
        epoch = steps_per_epoch(len(split(range(1, samples + 1), share=HELD_OUT_SHARE).train), BATCH)
        return 0 if drops else epochs * epoch

    return steps


def figures(stragglers: Stragglers, found: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    case = f"synthetic(1, 1), {stragglers.share:.0%} stragglers: accuracy"
    dropped = mean(found[ARMS[0]])
    for name in ARMS:
        unit = f"% ± {100 * stdev(found[name]):.1f}" if len(found[name]) > 1 else "%"
        gain = mean(found[name]) - dropped
        target = f"target ≥ +{100 * stragglers.least_gain:g} points; +{100 * gain:.1f}" if name == "FedProx" else None
        yield Figure(case, name, 100 * mean(found[name]), unit, target)
