"""Plots: accuracy over simulated time, the rounds of a fleet, what a sweep tried, and what proposed plans cost."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from coterie.simulation.clock import DAY_S, HOUR_S
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.planning import PlanFigures, Proposals
from coterie.simulation.fleet.sweep import SweepOutcome
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.privacy_spent import DELTA

SMOOTH = 5
"""Batches over which the line is averaged."""


def draw(name: str, outcome: SimulationOutcome, path: Path) -> None:
    """Save `streams_figure`; the format is the path's suffix."""
    streams_figure(name, outcome).savefig(path, dpi=150)


def streams_figure(name: str, outcome: SimulationOutcome) -> Figure:
    """Mean accuracy over the devices at each batch, and a line for each request for help."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    unit_s, unit = (DAY_S, "days") if outcome.tick_s * len(outcome.accuracy_by_tick) > 3 * DAY_S else (HOUR_S, "hours")
    found = [(tick, value) for tick, value in enumerate(outcome.accuracy_by_tick) if value is not None]
    times = [(tick + 1) * outcome.tick_s / unit_s for tick, _ in found]
    values = [value for _, value in found]
    smooth = [sum(values[max(0, i - SMOOTH + 1) : i + 1]) / min(SMOOTH, i + 1) for i in range(len(values))]
    axes.plot(times, values, color="tab:blue", alpha=0.25, linewidth=1)
    axes.plot(times, smooth, color="tab:blue", label=f"mean of {len(outcome.devices)} devices, over {SMOOTH} batches")
    for number, request in enumerate(outcome.help):
        label = "help kept" if number == 0 else None
        if request.outcome == "kept":
            axes.axvline(request.asked_s / unit_s, color="tab:green", linewidth=0.8, label=label)
    axes.set(
        xlabel=f"simulated {unit}", ylabel="accuracy before training", ylim=(0, 1), title=f"{name}: {outcome.scenario}"
    )
    axes.legend(loc="lower right")
    return figure


def fleet_figure(outcome: FleetOutcome) -> Figure:
    """Accuracy of each version that was measured over simulated time, and below it the devices of each round.

    Where samples come over time, above also how exact devices were on those that came.
    """
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    unit_s, unit = (DAY_S, "days") if outcome.simulated_s > 3 * DAY_S else (HOUR_S, "hours")
    times = [one.ended_s / unit_s for one in outcome.rounds]
    measured = [(time, one) for time, one in zip(times, outcome.rounds, strict=True) if one.accuracy is not None]
    versions = f"on {outcome.held_out:,} held out"
    above.plot(
        [time for time, _ in measured],
        [one.accuracy for _, one in measured],
        color="tab:blue",
        marker=".",
        label=versions,
    )
    if outcome.tick_s is not None:
        came = [(tick, one) for tick, one in enumerate(outcome.accuracy_by_tick, 1) if one is not None]
        ends = [tick * outcome.tick_s / unit_s for tick, _ in came]
        above.plot(ends, [one for _, one in came], color="tab:orange", label="of devices, before they learn")
        above.legend(loc="lower right")
    above.set(
        ylabel="accuracy" if outcome.drift else f"accuracy {versions}",
        ylim=(0, 1),
        title=f"{outcome.pair} on {outcome.data}, {outcome.devices:,} devices, seed {outcome.seed}",
    )
    for name, color in (("invited", "tab:gray"), ("delivered", "tab:green"), ("lost", "tab:red")):
        below.plot(times, [getattr(one, name) for one in outcome.rounds], color=color, label=name, linewidth=1)
    below.set(xlabel=f"simulated {unit}", ylabel="devices", ylim=(0, None))
    below.legend(loc="lower right")
    return figure


def sweep_figure(outcome: SweepOutcome) -> Figure:
    """Accuracy by each hyperparameter on the choosing seeds; lines are the winner and the given plan on the others."""
    paths = list(outcome.winner)
    figure = Figure(figsize=(4 * len(paths), 4), layout="constrained")
    for path, axes in zip(paths, figure.subplots(1, len(paths), sharey=True, squeeze=False)[0], strict=True):
        values = list(map(str, sorted({one.values[path] for one in outcome.tried}, key=_order)))
        most = max(one.rounds for one in outcome.tried)
        for rounds in sorted({one.rounds for one in outcome.tried}):
            those = [one for one in outcome.tried if one.rounds == rounds]
            places = [values.index(str(one.values[path])) for one in those]
            accuracies = [getattr(one, outcome.chosen_by) for one in those]
            axes.scatter(places, accuracies, alpha=0.3 + 0.7 * rounds / most, label=f"{rounds} rounds")
        axes.axhline(outcome.winner_judged.accuracy, color="tab:green", label="winner, judged")
        axes.axhline(outcome.given_judged.accuracy, color="tab:gray", linestyle="--", label="as it is, judged")
        axes.set(xlabel=path, xticks=range(len(values)), xticklabels=values, ylim=(0, 1))
    figure.axes[0].set_ylabel("accuracy" if outcome.chosen_by == "accuracy" else "mean accuracy on devices")
    figure.axes[-1].legend(loc="lower right", fontsize="small")
    return figure


def proposals_figure(found: Proposals) -> Figure:
    """What each proposal takes, by its number as it is listed; lines are the goal.

    Its privacy stands beside it: the kind, how many updates leave a device that takes part, and epsilon where any has.
    """
    goal, unit_s, unit = found.goal, *((DAY_S, "days") if found.goal.within_s > 3 * DAY_S else (HOUR_S, "hours"))
    panels: list[tuple[str, Callable[[PlanFigures], float | None], float | None]] = [
        (f"{unit} until it is as accurate", lambda one: _part(one.reaches_s, unit_s), goal.within_s / unit_s),
        ("kB of a device", lambda one: one.bytes_per_device / 1e3, _part(goal.bytes_per_device, 1e3)),
        ("J of a device", lambda one: one.joules_per_device, goal.joules_per_device),
        ("updates that leave a device", lambda one: one.updates_per_device, None),
    ]
    if any(one.figures.epsilon is not None for one in found.proposals):
        panels.append((f"epsilon of a device, at delta {DELTA:g}", lambda one: one.epsilon, goal.epsilon))
    figure = Figure(figsize=(3.5 * len(panels), 4), layout="constrained")
    for axes, (label, of, limit) in zip(figure.subplots(1, len(panels), sharey=True), panels, strict=True):
        for number, one in enumerate(found.proposals, 1):
            at = of(one.figures)
            if at is None:
                continue  # it never is as accurate, or guarantees nothing
            axes.scatter([at], [one.figures.accuracy], color="tab:green" if one.reaches_goal else "tab:gray")
            axes.annotate(f" {number}, {one.privacy}", (at, one.figures.accuracy), fontsize="small")
        axes.axhline(goal.accuracy, color="tab:blue", linewidth=0.8)
        if limit is not None:
            axes.axvline(limit, color="tab:blue", linewidth=0.8)
        axes.set(xlabel=label, xlim=(0, None))
    figure.axes[0].set(ylabel="accuracy", ylim=(0, 1))
    figure.suptitle("Proposed plans; green: reach the goal")
    return figure


def _part(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _order(value: object) -> tuple[float, str]:
    """Numbers by their size, before anything else."""
    return (float(value), "") if isinstance(value, int | float) else (float("inf"), str(value))
