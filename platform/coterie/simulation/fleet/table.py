"""What a fleet's simulation found, as a table for people and as rows for programs."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.table import Table

from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.sweep import SweepOutcome

Cell = str | int | float | None


def fleet_table(name: str, outcome: FleetOutcome) -> Table:
    """The figures of one simulation."""
    title = f"{name}: {outcome.pair} on {outcome.data}, {outcome.devices:,} devices, seed {outcome.seed}"
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for what, value in _rows(outcome):
        table.add_row(what, value)
    return table


def sweep_table(name: str, outcome: SweepOutcome) -> Table:
    """What was tried, the best first, and how the winner did where nothing had been chosen."""
    winner, given = outcome.winner_judged.accuracy, outcome.given_judged.accuracy
    seeds, judging = (", ".join(map(str, one)) for one in (outcome.seeds, outcome.judging_seeds))
    table = Table(
        title=f"{name}: {outcome.search}, {len(outcome.tried)} combinations, seeds {seeds}",
        title_justify="left",
        caption=f"on seeds {judging}, where nothing was chosen: the best {winner:.3f}, the plan as it is {given:.3f}",
        caption_justify="left",
    )
    for path in outcome.winner:
        table.add_column(path)
    for column in ("rounds", "accuracy"):
        table.add_column(column, justify="right")
    for one in outcome.tried:
        table.add_row(*map(str, one.values.values()), str(one.rounds), f"{one.accuracy:.3f}")
    return table


def round_rows(outcome: FleetOutcome) -> Sequence[Mapping[str, Cell]]:
    """One row a round, by the names of its fields."""
    return [msgspec.to_builtins(one) for one in outcome.rounds]


def _rows(outcome: FleetOutcome) -> Iterator[tuple[str, str]]:
    yield f"accuracy on {outcome.held_out:,} samples held out", f"{outcome.accuracy:.3f}"
    yield "loss there", f"{outcome.loss:.3f}"
    worst = min((one for one in outcome.class_accuracy if one is not None), default=None)
    if worst is not None:
        yield "accuracy, worst class", f"{worst:.3f}"
    merged = sum(one.outcome == "merged" for one in outcome.rounds)
    yield "rounds merged", f"{merged} of {len(outcome.rounds)}"
    if outcome.ended == "horizon":
        yield "ended", "no round could open before the simulated time was over"
    yield "simulated time", f"{outcome.simulated_s / 3600:.1f} hours"
    yield "devices that counted", f"{outcome.participants:,} of {outcome.devices:,}"
    yield "updates computed", f"{outcome.client_rounds:,}"
    diverged = sum(one.diverged for one in outcome.rounds)
    if diverged:
        yield "updates that diverged", f"{diverged:,}"
    yield "devices trained", "side by side" if outcome.executor == "batched" else "one by one"
    if outcome.executor_reason:
        yield "because", outcome.executor_reason
    for what, count in outcome.bytes_by_kind.items():
        yield f"bytes of {what}", f"{count:,}"
