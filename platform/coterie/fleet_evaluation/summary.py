"""Summary of what devices have measured: means, deciles and the worst, over all devices and by tag."""

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
    """One figure over devices, each counted once however many samples it has."""

    mean: float
    deciles: tuple[float, ...]
    """The 10 %, 20 %, … 90 % quantile, ascending."""
    worst: float
    """Of accuracies the lowest, of losses the highest."""


class Summary(msgspec.Struct, frozen=True):
    """The figures of a set of devices."""

    devices: int
    samples: int
    loss: float
    """Mean over all samples of all devices."""
    losses: Spread
    accuracy: float | None = None
    """Accuracy over all samples; None: the task has none."""
    accuracies: Spread | None = None


class EvaluationFigures(msgspec.Struct, frozen=True):
    """The outcome of an evaluation so far."""

    devices: int
    """Number of devices that were asked."""
    reports: int
    faults: int
    """Reports that say why the device cannot measure it."""
    summary: Summary | None = None
    """None: no device has measured it."""
    by_tag: dict[str, Summary] = {}


def summarise(reported: Sequence[ReportedFigures]) -> Summary | None:
    """Summary of `reported`; None where it is empty. All or none of them have an accuracy."""
    if not reported:
        return None
    samples = sum(one.samples for one in reported)
    losses = [one.loss for one in reported]
    judged = [(one, one.accuracy) for one in reported if one.accuracy is not None]
    shares = [share for _, share in judged]
    return Summary(
        devices=len(reported),
        samples=samples,
        loss=math.fsum(one.loss * one.samples for one in reported) / samples,
        losses=_spread(losses, worst=max(losses)),
        accuracy=math.fsum(one.samples * share for one, share in judged) / samples if shares else None,
        accuracies=_spread(shares, worst=min(shares)) if shares else None,
    )


def by_tag(reported: Iterable[ReportedFigures]) -> dict[str, Summary]:
    """A summary by tag; a device with several tags counts in each."""
    tagged: defaultdict[str, list[ReportedFigures]] = defaultdict(list)
    for one in reported:
        for tag in one.tags:
            tagged[tag].append(one)
    found = {tag: summarise(members) for tag, members in sorted(tagged.items())}
    return {tag: summary for tag, summary in found.items() if summary is not None}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of `ordered` (ascending) at `share`, with linear interpolation.

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
