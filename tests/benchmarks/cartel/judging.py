"""Figures from outcomes of the same seeds, one isolated and one with Cartel."""

from collections.abc import Sequence
from statistics import mean, stdev

import numpy as np

from coterie.simulation.outcome import DeviceOutcome, SimulationOutcome
from tests.benchmarks.report import Figure

WINDOW = 2
"""Batches after a transfer that say whether it harmed."""


def recovery_figures(
    case: str, isolated: Sequence[SimulationOutcome], cartel: Sequence[SimulationOutcome], *, target: str
) -> list[Figure]:
    """Batches to recover, mean over all changes; one that is not recovered from counts until the next, or the end."""
    alone, helped = [_batches(one) for one in isolated], [_batches(one) for one in cartel]
    ratio = _all(alone) / max(_all(helped), 1e-9)
    figures = [
        Figure(
            case,
            "batches to recover, mean ± spread over seeds",
            _all(helped),
            f"± {_spread(helped):.2f}",
            f"isolated, {_all(alone):.2f} ± {_spread(alone):.2f}; {target}",
            ratio,
        )
    ]
    if len(alone[0]) > 1:
        first = mean(one[0] for one in helped)
        against = mean(one[0] for one in alone)
        figures.append(
            Figure(
                case,
                "of the first change alone",
                first,
                "batches",
                f"isolated, {against:.2f}",
                against / max(first, 1e-9),
            )
        )
    return figures


def byte_figures(
    case: str, centralised: Sequence[SimulationOutcome], cartel: Sequence[SimulationOutcome], *, target: float
) -> list[Figure]:
    """Everything that travels: metadata, requests and portions here; raw batches up and models down there."""
    ours, theirs = (mean(sum(one.bytes_by_kind.values()) for one in outcomes) for outcomes in (cartel, centralised))
    parts = {
        kind: mean(one.bytes_by_kind.get(kind, 0) for one in cartel) for kind in ("metadata", "requests", "portions")
    }
    told = ", ".join(f"{kind} {size:,.0f}" for kind, size in parts.items())
    return [
        Figure(
            case,
            "bytes that travel",
            ours,
            f"bytes ({told})",
            f"centralised, {theirs:,.0f}; target ≥ {target:,.0f}×",
            theirs / ours,
        )
    ]


def guard_figures(
    case: str, isolated: Sequence[SimulationOutcome], cartel: Sequence[SimulationOutcome]
) -> list[Figure]:
    """What became of requests, and whether any kept transfer left the device worse than alone on its next window."""
    judged = [one for outcome in cartel for one in outcome.help if one.outcome in ("kept", "undone")]
    kept = sum(one.outcome == "kept" for one in judged)
    asked = sum(len(outcome.help) for outcome in cartel)
    gains, harmed = _gains(isolated, cartel)
    figures = [
        Figure(
            case,
            "transfers kept by the guard",
            kept,
            f"of {len(judged)} judged, {asked} requests in {len(cartel)} seeds",
        )
    ]
    if gains:
        figures.append(
            Figure(
                case,
                "least gain of a kept transfer on the next window",
                100 * min(gains),
                f"points; mean {100 * mean(gains):.1f}",
                f"isolated; {harmed} of {len(gains)} worse by more than two standard errors, target 0",
            )
        )
    return figures


def _gains(isolated: Sequence[SimulationOutcome], cartel: Sequence[SimulationOutcome]) -> tuple[list[float], int]:
    gains, harmed = [], 0
    for alone, helped in zip(isolated, cartel, strict=True):
        for one in helped.help:
            if one.outcome != "kept":
                continue
            without, samples = _accuracy(_device(alone, one.device), one.tick)
            with_, _ = _accuracy(_device(helped, one.device), one.tick)
            if not samples:
                continue
            gains.append(with_ - without)
            harmed += with_ - without < -2 * np.sqrt((without * (1 - without) + with_ * (1 - with_)) / samples)
    return gains, harmed


def _accuracy(device: DeviceOutcome, tick: int) -> tuple[float, int]:
    """Over the batches that follow `tick`, and their samples."""
    after = slice(tick + 1, tick + 1 + WINDOW)
    samples = sum(device.samples[after])
    return sum(device.correct[after]) / max(1, samples), samples


def _device(outcome: SimulationOutcome, name: str) -> DeviceOutcome:
    return next(device for device in outcome.devices if device.name == name)


def _batches(outcome: SimulationOutcome) -> list[float]:
    ticks = len(outcome.devices[0].samples)
    shifts = [*(one.tick for one in outcome.recoveries), ticks]
    return [
        float(until - one.tick if one.batches is None else one.batches)
        for one, until in zip(outcome.recoveries, shifts[1:], strict=True)
    ]


def _all(batches: Sequence[Sequence[float]]) -> float:
    return mean(value for one in batches for value in one)


def _spread(batches: Sequence[Sequence[float]]) -> float:
    """Standard deviation of the seeds' means."""
    return stdev(mean(one) for one in batches)
