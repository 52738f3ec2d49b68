"""Per-FedAvg: how good a model is on a device that took no part, after one step on the device's own data."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from coterie_learning.plan import parse_plan
from tests.benchmarks.family.data import half_new_classes
from tests.benchmarks.family.holding import accuracy, adapted, hold
from tests.benchmarks.family.models import drawn, learner
from tests.benchmarks.family.settings import Personal
from tests.benchmarks.report import Figure

KINDS = ("FedAvg", "first-order", "Hessian-free")
LONG = "long, small alpha"
ARMS = (*KINDS, *(f"{kind}; {LONG}" for kind in ("FedAvg", "Hessian-free")))


class Adapted(NamedTuple):
    """Mean accuracy of the devices."""

    after: float
    before: float
    """Without the step."""


def run(personal: Personal, name: str, seed: int) -> Adapted:
    kind, _, regime = name.partition("; ")
    steps, alpha, rounds = (
        (personal.long_steps, personal.long_alpha, personal.long_rounds)
        if regime
        else (personal.steps, personal.alpha, personal.rounds)
    )
    local: dict[str, object] = {"kind": "sgd", "epochs": 1000, "learning_rate": personal.beta}
    if kind != "FedAvg":
        hessian = "free" if kind == "Hessian-free" else "none"
        local = {"kind": "per_fedavg", "steps": steps, "alpha": alpha, "beta": personal.beta, "hessian": hessian}
    fleet, unseen = half_new_classes(
        seed, devices=personal.devices, unseen=personal.unseen, images_each=personal.images_each
    )
    first = drawn(learner(64, (64, 32), 10, activation="elu", batch_size=20), seed)
    *_, last = hold(
        parse_plan({"local": local, "merge": {"kind": "fed_avg", "weight_by": "uniform"}}),
        first,
        fleet.train,
        rounds=rounds,
        cohort=personal.cohort,
        seed=seed,
        steps=lambda _round, _device, _samples: steps if kind == "FedAvg" else None,
    )
    pairs = list(zip(unseen.train, unseen.test, strict=True))
    after = [accuracy(first, adapted(first, last, train, rate=alpha, seed=seed), test) for train, test in pairs]
    return Adapted(mean(after), mean(accuracy(first, last, test) for _, test in pairs))


def figures(personal: Personal, found: Mapping[str, Sequence[Adapted]]) -> Iterator[Figure]:
    for name in ARMS:
        own, case = found[name], "an unseen device after one step: accuracy"
        after = [one.after for one in own]
        unit = f"% ± {100 * stdev(after):.1f}" if len(after) > 1 else "%"
        before = f"before the step {100 * mean(one.before for one in own):.1f}"
        if name == "Hessian-free":
            gain = 100 * (mean(after) - mean(one.after for one in found["FedAvg"]))
            before += f"; target ≥ +{100 * personal.least_gain:g} points over FedAvg; {gain:+.1f}"
        elif LONG in name:
            before += "; trap: FedAvg expected to win"
        yield Figure(case, name, 100 * mean(after), unit, before)
