"""Asynchronous rounds against synchronous ones, in simulated time, with the product's own pace, merge and client round.

Fifty devices; a training takes 2 s and 10 s times a lognormal factor. A rule is judged by the seconds until the newest
version has 88 % of the test samples right. The settings were fixed on a seed that is not among those reported. In the
first case the slow devices own the digits 7, 8 and 9: whoever leaves out slow devices loses them. The second is the
control: with nearly all devices at work, updates are so stale that without their weights nothing is learned.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from statistics import mean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from coterie.simulation.clouds import AveragingCloud
from coterie.simulation.device import Device, make_devices
from coterie.simulation.learner import Task
from coterie.simulation.learners.neural import Neural, NeuralLearner
from coterie.simulation.rounds import Rounds
from coterie.simulation.scenario import parse_scenario
from coterie.simulation.streams import Drawn
from coterie.simulation.streams.digits import CLASSES, IMAGE, INPUT
from coterie.simulation.world import World
from coterie_learning.plan import Plan, parse_plan
from coterie_wire.bundle import TensorSpec
from tests.benchmarks.report import Figure

SEEDS = range(5)
DEVICES = 50
TESTED = 360
"""Of the 1,797 digits; the others are the devices'."""
GOAL = 0.88
SLOW, THEIRS = 15, (7, 8, 9)
FIXED_S, MEAN_S, SPREAD = 2.0, 10.0, 1.0
"""Seconds that every training takes, the median of what it takes besides, and the deviation of its logarithm."""
LOOK_S = 4.0
"""Between two evaluations of the newest version."""
OWNED_S, CROWDED_S = 2400.0, 400.0
"""How long each case is simulated."""
SYNC = {"kind": "sync", "target_updates": 10, "over_selection": 1.3, "deadline_s": 3600}
BUFFERED = {"kind": "buffered", "buffer": 5, "at_work": 13, "max_staleness": 1000, "deadline_s": 3600}
CROWDED = {**BUFFERED, "at_work": 49}
UNWEIGHTED = {**CROWDED, "staleness": "none"}
LOCAL = {"kind": "sgd", "epochs": 5, "learning_rate": 0.3}


class Run(NamedTuple):
    """One rule, one seed."""

    seconds: float | None
    """Until the goal; None: never."""
    accuracy: float
    """At the end."""
    theirs: float
    """On the digits that the slow devices own, at the end."""
    used: int
    wasted: int
    """Devices that were asked and whose updates were not merged, but for those that are still at work."""
    versions: int


def measure() -> list[Figure]:
    rules = {"sync 1.3": SYNC, "buffered": BUFFERED}
    crowd = {"weighted": CROWDED, "not weighted": UNWEIGHTED}
    return [
        *_compared("slow devices own 7-9", OWNED_S, rules, owned=True),
        *_compared("49 of 50 at work", CROWDED_S, crowd, owned=False),
    ]


def _compared(
    case: str, horizon_s: float, paces: Mapping[str, Mapping[str, object]], *, owned: bool
) -> Iterator[Figure]:
    runs = {name: [_run(pace, seed, horizon_s, owned=owned) for seed in SEEDS] for name, pace in paces.items()}
    first = next(iter(paces))
    against = mean(_seconds(run, horizon_s) for run in runs[first])
    for name, found in runs.items():
        title = f"{case}, {name}"
        seconds = mean(_seconds(run, horizon_s) for run in found)
        reached = sum(run.seconds is not None for run in found)
        is_rival = name != first
        yield Figure(
            title,
            f"to {GOAL:.0%}, {reached} of {len(found)} seeds",
            seconds,
            "s",
            f"{first}, {against:.0f} s" if is_rival else None,
            against / seconds if is_rival else None,
        )
        yield Figure(title, "accuracy at the end", 100 * mean(run.accuracy for run in found), "%")
        yield Figure(title, "lowest of the seeds", 100 * min(run.accuracy for run in found), "%")
        if owned:
            yield Figure(title, "accuracy on 7-9", 100 * mean(run.theirs for run in found), "%")
        yield Figure(title, "versions", mean(run.versions for run in found), "")
        yield Figure(title, "trainings used", mean(run.used for run in found), "")
        yield Figure(title, "trainings wasted", mean(run.wasted for run in found), "")


def _seconds(run: Run, horizon_s: float) -> float:
    return horizon_s if run.seconds is None else run.seconds


def _run(pace: Mapping[str, object], seed: int, horizon_s: float, *, owned: bool) -> Run:
    plan = parse_plan(
        {
            "pace": pace,
            "local": LOCAL,
            "merge": {"kind": "fed_avg", "weight_by": "uniform"},
            "requirements": {"charging": False, "unmetered": False},
        }
    )
    world, cloud, rounds, test = _begun(plan, seed, owned=owned)
    found: list[tuple[float, float, float]] = []

    def look() -> None:
        logits = cloud.version_for(world.devices[0]).learner.predict(test.inputs)
        right = logits.argmax(axis=1) == test.labels
        found.append((world.clock.now_s, float(right.mean()), float(right[np.isin(test.labels, THEIRS)].mean())))
        world.clock.at(world.clock.now_s + LOOK_S, look)

    rounds.begin()
    world.clock.at(0, look)
    world.clock.run(until_s=horizon_s)
    used = sum(outcome.delivered for outcome in rounds.outcomes)
    asked = sum(outcome.invited for outcome in rounds.outcomes)
    still_at_work = 0 if plan.pace.staleness_allowed() is None else int(str(pace["at_work"]))
    last = found[-max(1, len(found) // 20) :]
    return Run(
        seconds=next((time_s for time_s, accuracy, _ in found if accuracy >= GOAL), None),
        accuracy=mean(accuracy for _, accuracy, _ in last),
        theirs=mean(theirs for _, _, theirs in last),
        used=used,
        wasted=max(0, asked - used - still_at_work),
        versions=len(rounds.outcomes),
    )


class _Begun(NamedTuple):
    world: World
    cloud: AveragingCloud
    rounds: Rounds
    test: Dataset


def _begun(plan: Plan, seed: int, *, owned: bool) -> _Begun:
    """A fleet whose devices have all their samples, and the samples that versions are judged by."""
    scenario = parse_scenario(
        {
            "title": "unlike speeds",
            "devices": DEVICES,
            "stream": {"kind": "digits", "profiles": [{"classes": [0]}]},
            "learner": {"kind": "neural", "hidden": 32, "batch_size": 16},
            "speed": {"sample_s": 1.0, "latency_s": FIXED_S / 2, "uplink_bytes_s": 1e12, "downlink_bytes_s": 1e12},
        },
        path="async",
    )
    first = _learner()
    rng = np.random.default_rng([seed, 7])
    factors = np.exp(rng.normal(0, SPREAD, DEVICES))
    images, labels = read_digits()
    rows = rng.permutation(len(labels))
    test, own = rows[:TESTED], rows[TESTED:]
    shares = _owned(labels, own, np.argsort(factors), rng) if owned else _unlike(labels, own, np.arange(DEVICES), rng)
    batches = tuple((Dataset({INPUT: images[share]}, labels[share]),) for share in shares)
    drawn = Drawn(TASK, tick_s=1.0, cloud=batches[0][0], batches=batches)
    made = make_devices(scenario, plan.requirements, first, count=DEVICES, seed=seed)
    devices = tuple(
        _as_fast(device, MEAN_S * factor, share) for device, factor, share in zip(made, factors, shares, strict=True)
    )
    world = World(scenario, drawn, devices, seed)
    cloud = AveragingCloud(plan, first, fleet=DEVICES)
    for device in devices:
        device.meet(batches[device.number][0], 0.5)
    return _Begun(world, cloud, Rounds(world, plan, cloud), Dataset({INPUT: images[test]}, labels[test]))


TASK = Task((TensorSpec(INPUT, "float32", IMAGE),), CLASSES)


@cache
def _learner() -> NeuralLearner:
    plan = parse_plan({"local": LOCAL})
    learner = Neural(hidden=32, batch_size=16).begin(TASK, plan.local, seed=11)
    assert isinstance(learner, NeuralLearner)
    return learner


def _as_fast(device: Device, training_s: float, share: NDArray[np.int64]) -> Device:
    """A device whose training takes so long, however many samples it has."""
    return replace(device, slowness=training_s / (len(share) * int(str(LOCAL["epochs"]))))


def _unlike(
    labels: NDArray[np.int64], rows: NDArray[np.int64], devices: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Samples by device: of each class, shares that are drawn from a Dirichlet distribution with 0.3."""
    parts: list[list[NDArray[np.int64]]] = [[] for _ in devices]
    for digit in np.unique(labels[rows]):
        of_class = rows[labels[rows] == digit]
        cuts = (np.cumsum(rng.dirichlet(np.full(len(devices), 0.3))) * len(of_class)).astype(int)[:-1]
        for part, found in zip(parts, np.split(of_class, cuts), strict=True):
            part.append(found)
    shares = [np.concatenate(part) for part in parts]
    spare = rng.choice(rows, size=(len(devices), 4))
    return [share if len(share) >= 4 else more for share, more in zip(shares, spare, strict=True)]


def _owned(
    labels: NDArray[np.int64], rows: NDArray[np.int64], by_speed: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """The same, but the slowest devices have the samples of the digits that they own, and no others."""
    is_theirs = np.isin(labels[rows], THEIRS)
    fast, slow = by_speed[:-SLOW], by_speed[-SLOW:]
    shares = dict(zip(fast.tolist(), _unlike(labels, rows[~is_theirs], fast, rng), strict=True))
    shares |= dict(zip(slow.tolist(), _unlike(labels, rows[is_theirs], slow, rng), strict=True))
    return [shares[number] for number in range(DEVICES)]
