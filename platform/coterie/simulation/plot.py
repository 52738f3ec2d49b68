"""A plot of accuracy over simulated time."""

from pathlib import Path

from matplotlib.figure import Figure

from coterie.simulation.clock import DAY_S, HOUR_S
from coterie.simulation.outcome import Outcome

SMOOTH = 5
"""Batches over which the line is averaged."""


def draw(name: str, outcome: Outcome, path: Path) -> None:
    """Mean over the devices at each batch, a line for each request for help; the format is the path's suffix."""
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
    figure.savefig(path, dpi=150)
