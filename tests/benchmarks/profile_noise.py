"""Noise on profiles (`help: cartel`): what it is worth, and what it costs matching and recovery.

Matching: devices with class shares of a Dirichlet distribution, each knowing its classes but for a few; one after the
other asks for help with a class that it fails on. Who is found among told counts is judged by the true ones. Recovery:
the workloads of ``make bench NAME=cartel``, linear models, through the engine of ``coterie simulate``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.help.cartel import Cartel
from coterie_learning.neighbours import Match, Neighbour, NeighbourIndex, Wanted
from coterie_learning.profile import Counts, jensen_shannon
from coterie_learning.profile_noise import noised, sample_noise
from tests.benchmarks.cartel.arms import Arm, run_arms
from tests.benchmarks.cartel.judging import guard_figures, recovery_figures
from tests.benchmarks.cartel.settings import read_settings
from tests.benchmarks.report import Figure

MULTIPLIERS = (0.0, 0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
DEVICES, CLASSES, ASKING = 1000, 10, 200
WINDOW, RECENT = 500, 100
"""Samples that a profile and a request tell of: ten batches and two of 50."""
SKEW, ERROR = 0.5, 0.08


class Device(NamedTuple):
    """What is true of it."""

    known: Counts
    """Of its newest window."""
    recent: Counts
    """Of its newest batches, in which one class is new to its model."""
    failing: int


def measure() -> Sequence[Figure]:
    """A few minutes of two cores."""
    return [*matching_figures(), *recovery_with_noise()]


def matching_figures() -> list[Figure]:
    """Of requests: how many ask for the class that fails, find a helper, and find one that is right by true counts."""
    figures = []
    for multiplier in MULTIPLIERS:
        drawn, rules = np.random.default_rng(0), Cartel(noise_multiplier=multiplier)
        devices = [_device(drawn) for _ in range(DEVICES)]
        told, true = NeighbourIndex(CLASSES), NeighbourIndex(CLASSES)
        for number, device in enumerate(devices):
            told.put(str(number), Neighbour(_told(device.known, multiplier, drawn)))
            true.put(str(number), Neighbour(device.known))
        asked, found, right, excess = 0, 0, 0, []
        for number, device in enumerate(devices[:ASKING]):
            recent = _told(device.recent, multiplier, drawn)
            troubled = recent.troubled(below=rules.troubled_recall * (1 - ERROR), samples=rules.troubled_samples)
            if device.failing not in troubled:
                continue
            asked += 1
            matches = told.search(Wanted(recent, troubled), rules, limit=1, exclude=(str(number),))
            if not matches:
                continue
            found += 1
            wanted = Wanted(device.recent, (device.failing,))
            good = true.search(wanted, rules, limit=DEVICES, exclude=(str(number),))
            right += matches[0].device in {one.device for one in good}
            excess.append(_excess(devices, device, matches[0], good))
        case = f"matching, z {multiplier:g}: {_worth(rules)}"
        figures += [
            Figure(case, "requests that ask for the failing class", asked, f"of {ASKING}"),
            Figure(case, "of them matched", found, f"of {asked}"),
            Figure(case, "matched with a helper that qualifies by true counts", right, f"of {found}"),
            Figure(case, "divergence beyond that of the best helper, mean", float(np.mean(excess)) if excess else 0.0,
                   "bits"),
        ]  # fmt: skip
    return figures


def recovery_with_noise() -> list[Figure]:
    """Batches to recover, and what became of requests."""
    settings = read_settings()
    learner, workload = settings.learners["linear"], settings.workloads[0]
    plans = [("isolated", {}), *(("cartel", {"noise_multiplier": one}) for one in MULTIPLIERS)]
    arms = [Arm(plan, workload, seed, learner, help=help_) for plan, help_ in plans for seed in settings.seeds]
    outcomes, count = run_arms(arms), len(settings.seeds)
    isolated = outcomes[:count]
    figures = []
    for place, multiplier in enumerate(MULTIPLIERS, start=1):
        case = f"{workload}, linear, z {multiplier:g}: {_worth(Cartel(noise_multiplier=multiplier))}"
        cartel = outcomes[place * count : (place + 1) * count]
        figures += recovery_figures(case, isolated, cartel, target="beside z 0")
        figures += guard_figures(case, isolated, cartel)
    return figures


def _device(drawn: np.random.Generator) -> Device:
    shares = drawn.dirichlet(np.full(CLASSES, SKEW))
    known = drawn.multinomial(WINDOW, shares)
    failing = int(drawn.integers(CLASSES))
    arrived = np.clip(shares, 0, None)
    arrived[failing] += 0.2
    recent = drawn.multinomial(RECENT, arrived / arrived.sum())
    wrong = drawn.binomial(recent, ERROR)
    wrong[failing] = recent[failing]
    return Device(Counts(known, drawn.binomial(known, ERROR)), Counts(recent, wrong), failing)


def _told(counts: Counts, multiplier: float, drawn: np.random.Generator) -> Counts:
    return noised(counts, multiplier, drawn.bytes(32)) if multiplier else counts


def _excess(devices: Sequence[Device], device: Device, match: Match, good: Sequence[Match]) -> float:
    """By how much the helper found is less like the device than the nearest that there is, by true counts."""
    if not good:
        return 0.0
    true = jensen_shannon(devices[int(match.device)].known.prior(), device.recent.prior())
    return true - good[0].divergence


def _worth(rules: Cartel) -> str:
    noise = sample_noise(rules, DELTA)
    return "no noise" if noise is None else f"epsilon {noise.epsilon:.2f} of a sample at delta {noise.delta:g}"
