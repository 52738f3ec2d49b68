"""What devices have measured, summed up: means, deciles and the worst, over all devices and by tag."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

DECILES = tuple(tenth / 10 for tenth in range(1, 10))


class ReportedFigures(NamedTuple):
    """What one device reported of its evaluation."""

    samples: int
    loss: float
    accuracy: float | None
    tags: Sequence[str]


class Spread(msgspec.Struct, frozen=True):
    """One figure over devices, each counted once whatever it has of samples."""

    mean: float
    deciles: tuple[float, ...]
    """The 10 %, 20 %, … 90 % quantile, ascending."""
    worst: float
    """Of accuracies the lowest, of losses the highest."""


class Summary(msgspec.Struct, frozen=True):
    """Of a set of devices."""

    devices: int
    samples: int
    loss: float
    """Mean over all samples of all devices."""
    losses: Spread
    accuracy: float | None = None
    """Share of all samples that is right; None: the task has no right and wrong."""
    accuracies: Spread | None = None


class EvaluationFigures(msgspec.Struct, frozen=True):
    """The outcome of an evaluation so far."""

    devices: int
    """That were asked."""
    reports: int
    faults: int
    """Reports that say why the device cannot measure it."""
    summary: Summary | None = None
    """None: nobody has measured it."""
    by_tag: dict[str, Summary] = {}


def summarise(told: Sequence[ReportedFigures]) -> Summary | None:
    """None where there is nothing; all or none of `told` have an accuracy."""
    if not told:
        return None
    samples = sum(one.samples for one in told)
    losses = [one.loss for one in told]
    judged = [(one, one.accuracy) for one in told if one.accuracy is not None]
    shares = [share for _, share in judged]
    return Summary(
        devices=len(told),
        samples=samples,
        loss=math.fsum(one.loss * one.samples for one in told) / samples,
        losses=_spread(losses, worst=max(losses)),
        accuracy=math.fsum(one.samples * share for one, share in judged) / samples if shares else None,
        accuracies=_spread(shares, worst=min(shares)) if shares else None,
    )


def by_tag(told: Iterable[ReportedFigures]) -> dict[str, Summary]:
    """Of the devices of each tag; one with several tags counts in each."""
    tagged: defaultdict[str, list[ReportedFigures]] = defaultdict(list)
    for one in told:
        for tag in one.tags:
            tagged[tag].append(one)
    found = {tag: summarise(members) for tag, members in sorted(tagged.items())}
    return {tag: summary for tag, summary in found.items() if summary is not None}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of `ordered`, which ascends, are not greater than, between neighbours in proportion.

    Hyndman and Fan, Sample Quantiles in Statistical Packages (1996), definition 7.
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _spread(values: Sequence[float], *, worst: float) -> Spread:
    ordered = sorted(values)
    deciles = tuple(quantile(ordered, share) for share in DECILES)
    return Spread(math.fsum(ordered) / len(ordered), deciles, worst)
