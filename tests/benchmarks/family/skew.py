"""Corrections of drift and server optimisers on label-skewed data: rounds to an accuracy, and how steady it is."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from coterie_learning.plan import parse_plan
from tests.benchmarks.family.data import label_skew
from tests.benchmarks.family.holding import accuracy, hold, rounds_until, spread
from tests.benchmarks.family.models import drawn, learner
from tests.benchmarks.family.settings import Arm, Skew
from tests.benchmarks.report import Figure


class Course(NamedTuple):
    """One arm on one seed."""

    rounds: int
    """To the accuracy; one more than there were where it was never reached."""
    spread: float
    """Standard deviation over the last 20 rounds."""
    accuracy: float
    """Mean of the last five rounds."""


def run(skew: Skew, name: str, seed: int) -> Course:
    arm = {**skew.arms, **skew.controls}[name]
    fleet = label_skew(seed, devices=skew.devices, concentration=skew.concentration, alike=arm.alike)
    first = drawn(learner(64, (32,), 10, activation="relu", batch_size=16), seed)
    versions = hold(
        parse_plan({"local": arm.local, "merge": arm.merge}),
        first,
        fleet.train,
        rounds=skew.rounds,
        cohort=skew.cohort,
        seed=seed,
        steps=lambda _round, _device, _samples: skew.steps,
    )
    found = [accuracy(first, version, fleet.test[0]) for version in versions]
    return Course(rounds_until(found, skew.accuracy), spread(found), mean(found[-5:]))


def figures(skew: Skew, courses: Mapping[str, Sequence[Course]]) -> Iterator[Figure]:
    for name, arm in skew.arms.items():
        yield from _of_arm(skew, courses, name, arm, f"target ≤ {skew.most_rounds:g}× its rounds")
    for name, arm in skew.controls.items():
        yield from _of_arm(skew, courses, name, arm, "control: expected to gain nothing, or to lose")


def _of_arm(skew: Skew, courses: Mapping[str, Sequence[Course]], name: str, arm: Arm, claim: str) -> Iterator[Figure]:
    own = courses[name]
    rounds = [course.rounds for course in own]
    case = f"label skew: rounds to {skew.accuracy:.0%}"
    unit = f"± {stdev(rounds):.1f}" if len(rounds) > 1 else ""
    if arm.against is None:
        yield Figure(case, name, mean(rounds), unit)
    else:
        other = courses[arm.against]
        theirs = mean(course.rounds for course in other)
        yield Figure(
            case, name, mean(rounds), unit, f"{arm.against}, {theirs:.1f}; {claim}", ratio=theirs / mean(rounds)
        )
    if arm.steady and arm.against is not None:
        ours, theirs = (mean(one.spread for one in courses[which]) for which in (name, arm.against))
        against = f"{arm.against}, {100 * theirs:.2f}; target ≤ {skew.most_spread:g}× its spread"
        yield Figure("label skew: spread of the last 20 rounds", name, 100 * ours, "points", against, theirs / ours)
    yield Figure("label skew: accuracy of the last 5 rounds", name, 100 * mean(one.accuracy for one in own), "%")
