"""What a fleet's simulation found, as a table for people and as rows for programs."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.table import Table

from coterie.simulation.fleet.events import EventsOutcome, Peak
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.planning import Proposals
from coterie.simulation.fleet.sweep import SweepOutcome, Values
from coterie.simulation.privacy_spent import DELTA
from coterie.simulation.table import change_rows, merge_rows
from coterie_learning.plan import parse_plan

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


def events_table(name: str, outcome: EventsOutcome) -> Table:
    """What rounds took, and what reached the platform."""
    days = outcome.simulated_s / 86_400
    table = Table(title=f"{name}: {outcome.devices:,} devices, {days:.1f} days, seed {outcome.seed}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    low, middle, high = outcome.duration_s
    asked = max(1, outcome.asked)
    rows = {
        "rounds merged": f"{outcome.merged:,} of {outcome.rounds:,}",
        "a round, from opening to closing": f"{middle:,.0f} s (80 %: {low:,.0f} to {high:,.0f} s)",
        "asked; in time, lost": f"{outcome.asked:,}; {outcome.delivered / asked:.1%}, {outcome.lost / asked:.1%}",
        "devices asked at least once": f"{outcome.participants:,}, one of them {outcome.most_asked} times",
        "ready": f"{outcome.ready_share.mean:.1%} of devices, at most {outcome.ready_share.largest:.1%}",
        "an idle device checks in every": f"{outcome.check_in_every_s:,.0f} s",
        "check-ins a second": _peak(outcome.check_ins, 1, ""),
        "of these, because conditions change": _peak(outcome.changes, 1, ""),
        "bytes to devices": _peak(outcome.down_bytes_s, 1e6, " MB/s"),
        "bytes from devices": _peak(outcome.up_bytes_s, 1e6, " MB/s"),
        "cores for check-ins and assignments": _peak(outcome.web_cores, 1, ""),
        "cores for merges": _peak(outcome.merge_cores, 1, ""),
    }
    for what, value in rows.items():
        table.add_row(what, value)
    return table


def _peak(peak: Peak, unit: float, name: str) -> str:
    return f"{peak.mean / unit:,.2f}, at most {peak.largest / unit:,.2f}{name}"


def sweep_table(name: str, outcome: SweepOutcome) -> Table:
    """What was tried, the best first, and how the winner did where nothing had been chosen."""
    winner, given = outcome.winner_judged.accuracy, outcome.given_judged.accuracy
    figure = "accuracy" if outcome.chosen_by == "accuracy" else "mean accuracy on devices"
    seeds, judging = (", ".join(map(str, one)) for one in (outcome.seeds, outcome.judging_seeds))
    table = Table(
        title=f"{name}: {outcome.search}, {len(outcome.tried)} combinations, seeds {seeds}",
        title_justify="left",
        caption=f"{figure} on seeds {judging}, where nothing was chosen: the best {winner:.3f}, "
        f"the plan as it is {given:.3f}",
        caption_justify="left",
    )
    for path in outcome.winner:
        table.add_column(path)
    for column in ("rounds", "accuracy", "on devices", "worst tenth", "kB a device", "joules"):
        table.add_column(column, justify="right")
    for one in outcome.tried:
        shares = (one.accuracy, one.device_accuracy_median, one.device_accuracy_worst_decile)
        costs = (one.bytes_per_device / 1000, one.joules_per_device)
        table.add_row(
            *map(str, one.values.values()),
            str(one.rounds),
            *(f"{share:.3f}" for share in shares),
            *(f"{cost:,.1f}" for cost in costs),
        )
    return table


def round_rows(outcome: FleetOutcome) -> Sequence[Mapping[str, Cell]]:
    """One row a round, by the names of its fields; of a fault, its code."""
    return [
        {**msgspec.to_builtins(one), "fault": None if one.fault is None else one.fault.code} for one in outcome.rounds
    ]


def why_no_round(outcome: FleetOutcome) -> str:
    """What kept a fleet that held no round from it."""
    pace = parse_plan(outcome.plan).pace
    if not pace.holds_rounds():
        return f"no round: pace {pace.name} holds none"
    ready = f"{pace.devices_needed():,} devices with samples that are ready at once, of {outcome.devices:,}"
    return f"no round could open: it needs {ready}"


def figure_row(outcome: FleetOutcome) -> Mapping[str, Cell]:
    """What one simulation found in a row, by the names of its fields; of devices the median and the worst tenth."""
    return {
        "accuracy": outcome.accuracy,
        "device_accuracy_median": outcome.device_accuracy.median,
        "device_accuracy_worst_decile": outcome.device_accuracy.worst_decile,
        "loss": outcome.loss,
        "rounds": len(outcome.rounds),
        "simulated_s": outcome.simulated_s,
        "participants": outcome.participants,
        "bytes_per_device": outcome.bytes_per_device,
        "joules_per_device": outcome.joules_per_device,
        "epsilon": outcome.epsilon,
    }


def tried_rows(outcome: SweepOutcome) -> Sequence[Mapping[str, Cell]]:
    """One row a combination, the best first: its values by ``SLOT.FIELD``, its rounds and its figures."""
    return [
        {**_cells(one.values), **{name: value for name, value in msgspec.to_builtins(one).items() if name != "values"}}
        for one in outcome.tried
    ]


def proposal_rows(found: Proposals) -> Sequence[Mapping[str, Cell]]:
    """One row a proposal, as they are listed: its values by ``SLOT.FIELD``, its figures, its privacy and its reason."""
    return [
        {
            **_cells(one.values),
            **msgspec.to_builtins(one.figures),
            "reaches_goal": one.reaches_goal,
            "privacy": one.privacy,
            "reason": one.reason,
        }
        for one in found.proposals
    ]


def _cells(values: Values) -> Mapping[str, Cell]:
    return {path: value if isinstance(value, Cell) else str(value) for path, value in values.items()}


def _rows(outcome: FleetOutcome) -> Iterator[tuple[str, str]]:
    where = "on each sample before it is learned" if outcome.drift else f"on {outcome.held_out:,} samples held out"
    yield f"accuracy {where}", f"{outcome.accuracy:.3f}"
    if outcome.loss is not None:
        yield "loss there", f"{outcome.loss:.3f}"
    worst = min((one for one in outcome.class_accuracy if one is not None), default=None)
    if worst is not None:
        yield "accuracy, worst class", f"{worst:.3f}"
    yield f"accuracy on {outcome.devices_measured:,} devices, median", f"{outcome.device_accuracy.median:.3f}"
    yield "accuracy there, worst tenth", f"{outcome.device_accuracy.worst_decile:.3f}"
    if outcome.devices_with_own:
        yield "of these devices, with a model of their own", f"{outcome.devices_with_own:,}"
    yield from change_rows(outcome.recoveries, outcome.help, outcome.splits)
    yield from merge_rows(outcome.rounds)
    if outcome.drift and outcome.rounds and outcome.rounds[-1].accuracy is not None:
        yield f"last version on {outcome.held_out:,} samples held out", f"{outcome.rounds[-1].accuracy:.3f}"
    if outcome.ended == "horizon" and not outcome.drift:
        over = "no further round could open before the simulated time was over"
        yield "ended", over if outcome.rounds else why_no_round(outcome)
    yield "simulated time", f"{outcome.simulated_s / 3600:.1f} hours"
    counted = "devices to which samples came" if outcome.drift else "devices that counted"
    yield counted, f"{outcome.participants:,} of {outcome.devices:,}"
    yield "updates computed", f"{outcome.client_rounds:,}"
    diverged = sum(one.diverged for one in outcome.rounds)
    if diverged:
        yield "updates that diverged", f"{diverged:,}"
    ages = [(one.staleness_mean, one.delivered) for one in outcome.rounds if one.staleness_mean is not None]
    if ages:
        mean = sum(age * count for age, count in ages) / sum(count for _, count in ages)
        most = max(one.staleness_most or 0 for one in outcome.rounds)
        yield "versions by which bases of updates were older", f"{mean:.2f}, at most {most}"
    yield "devices trained", "side by side" if outcome.executor == "batched" else "one by one"
    if outcome.executor_reason:
        yield "because", outcome.executor_reason
    for what, count in outcome.bytes_by_kind.items():
        yield f"bytes of {what}", f"{count:,}"
    yield "bytes of a device that counted, with framing", f"{outcome.bytes_per_device:,.0f}"
    yield "joules of a device that counted", f"{outcome.joules_per_device:,.1f}"
    if outcome.epsilon is not None:
        yield f"epsilon of the device of which most is told, at delta {DELTA:g}", f"{outcome.epsilon:.3g}"
