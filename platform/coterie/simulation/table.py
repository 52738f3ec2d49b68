"""Tables for people: the result of a simulation, and what can be simulated."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table

from coterie.simulation.fleet.outcome import FleetRound
from coterie.simulation.outcome import HelpOutcome, Recovery, RoundOutcome, SimulationOutcome, SplitOutcome
from coterie.simulation.ways import Way, WaysOutcome
from coterie_learning.plan import leading_comment


def outcome_table(name: str, outcome: SimulationOutcome) -> Table:
    """The figures of one simulation."""
    title = f"{name}: {outcome.scenario}, {len(outcome.devices)} devices, seed {outcome.seed}"
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for what, value in _rows(outcome):
        table.add_row(what, value)
    return table


def _rows(outcome: SimulationOutcome) -> Iterator[tuple[str, str]]:
    accuracy = outcome.accuracy
    yield "accuracy, mean of the devices", f"{accuracy.mean:.3f}"
    yield "accuracy, median device", f"{accuracy.median:.3f}"
    yield "accuracy, worst tenth", f"{accuracy.worst_decile:.3f}"
    yield from merge_rows(outcome.rounds)
    yield from change_rows(outcome.recoveries, outcome.help, outcome.splits)
    untrained = [device.untrained for device in outcome.devices if device.untrained is not None]
    if untrained:
        yield "devices that trained nothing", f"{len(untrained)}: {untrained[0].sentence}"
    for what, count in outcome.bytes_by_kind.items():
        yield f"bytes of {what}", f"{count:,}"


def merge_rows(rounds: Sequence[RoundOutcome | FleetRound]) -> Iterator[tuple[str, str]]:
    """Rows on rounds, and on merges that gave no version."""
    if rounds:
        yield "rounds merged", f"{sum(one.outcome == 'merged' for one in rounds)} of {len(rounds)}"
    faults = [one.fault for one in rounds if one.fault is not None]
    if faults:
        yield "merges that gave no version", str(len(faults))
        yield "the last of them", f"{faults[-1].sentence} [{faults[-1].code}]"


def change_rows(
    changes: Sequence[Recovery], help_: Sequence[HelpOutcome], splits: Sequence[SplitOutcome]
) -> Iterator[tuple[str, str]]:
    """Rows on changes of devices' data, requests for help, and groups."""
    recovered = [one.batches for one in changes if one.batches is not None]
    if changes:
        mean = f", {sum(recovered) / len(recovered):.1f} batches each" if recovered else ""
        yield "changes recovered from", f"{len(recovered)} of {len(changes)}{mean}"
    if help_:
        kept = sum(one.outcome == "kept" for one in help_)
        yield "help requests, portions kept", f"{len(help_)}, {kept}"
        unmatched = [one.reason.sentence for one in help_ if one.outcome == "unmatched" and one.reason]
        if unmatched:
            yield "requests for which nobody qualified", str(len(unmatched))
            yield "the last of them", unmatched[-1]
    if splits:
        yield "groups, last", str(len(set(splits[-1].groups.values())))


def ways_table(name: str, outcome: WaysOutcome) -> Table:
    """One column a way, so that it fits into 80 characters; costs are of one device, servers' of all."""
    table = Table(
        title=f"{name}: {outcome.scenario}, {outcome.devices} devices, seed {outcome.seed}, {outcome.costs.network}",
        title_justify="left",
        caption=f"time until accuracy was {outcome.target:.3f} is simulated; up to energy, of one device",
        caption_justify="left",
    )
    table.add_column("")
    for way in outcome.ways:
        table.add_column(way.name, justify="right")
    columns = [_of_way(way, outcome.devices) for way in outcome.ways]
    for what in columns[0]:
        table.add_row(what, *(column[what] for column in columns))
    return table


def _of_way(way: Way, devices: int) -> Mapping[str, str]:
    cost, reached = way.cost, way.reaches_target_s
    return {
        "accuracy": f"{way.accuracy.mean:.3f}",
        "worst tenth": f"{way.accuracy.worst_decile:.3f}",
        "until accuracy": "never" if reached is None else f"{reached / 3600:.2f} h",
        "up": f"{cost.up_bytes / devices / 1000:,.1f} kB",
        "down": f"{cost.down_bytes / devices / 1000:,.1f} kB",
        "busy": f"{(cost.radio_s + cost.device_compute_s) / devices:,.0f} s",
        "energy": f"{cost.device_joules / devices:,.1f} J",
        "servers, energy": f"{cost.server_joules:,.0f} J",
        "between servers": f"{cost.server_bytes / 1000:,.0f} kB",
        "samples that left": f"{way.exposed_samples:,}",
        "without a link": "answers" if way.answers_offline else "no answers",
    }


def shipped_table(contenders: Mapping[str, Path], scenarios: Mapping[str, Path]) -> Group:
    """Names and the description in each file: of a plan its paper, its purpose, and when it loses."""
    return Group(_listing("plans", contenders), _listing("scenarios", scenarios))


def _listing(title: str, files: Mapping[str, Path]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    for name, path in files.items():
        table.add_row(name, "\n".join(leading_comment(path)))
    return table
