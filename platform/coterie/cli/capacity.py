"""``coterie capacity``: what a fleet of a size takes of machines. Needs no platform."""

from collections.abc import Mapping

import click
import msgspec

from coterie.offline.capacity import PRICED, Fleet, Plan, cost_per_month, plan

COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command(short_help="Say what a fleet of a size takes of machines.")
@click.option("--devices", type=COUNT, required=True, help="enrolled devices")
@click.option("--sockets", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="share with a socket")
@click.option(
    "--check-ins", type=POSITIVE, default=200.0, show_default=True, help="a second, COTERIE_CHECK_INS_PER_SECOND"
)
@click.option("--shortest", type=POSITIVE, default=15.0, show_default=True, help="seconds between two of one device")
@click.option("--rounds", type=POSITIVE, default=24.0, show_default=True, help="a day, over all federations")
@click.option("--asked", type=COUNT, default=100, show_default=True, help="devices that a round asks")
@click.option(
    "--changes", type=POSITIVE, default=4.0, show_default=True, help="a day of each device: charger, network, battery"
)
@click.option("--model-mb", type=POSITIVE, default=1.0, show_default=True, help="that a device downloads a round")
@click.option("--update-mb", type=POSITIVE, default=0.25, show_default=True, help="that it uploads")
@click.option(
    "--price",
    "prices",
    type=(click.Choice(PRICED), click.FloatRange(min=0)),
    multiple=True,
    help="of yours, a month: of a core, a GB of memory, a GB stored, a GB sent to devices; once for each",
)
@click.option("--json", "as_json", is_flag=True, help="print the plan as JSON")
def capacity(
    devices: int,
    sockets: float,
    check_ins: float,
    shortest: float,
    rounds: float,
    asked: int,
    changes: float,
    model_mb: float,
    update_mb: float,
    prices: tuple[tuple[str, float], ...],
    as_json: bool,
) -> None:
    """Say what a fleet of a size takes of processes, memory, disk, database and network.

    From coefficients that were measured on two cores; averages over a day, with half of each core left for peaks. What
    was not measured at that size it cannot know: docs/scale.md.
    """
    asked_for = Fleet(devices, sockets, check_ins, shortest, rounds, asked, changes, 1e6 * model_mb, 1e6 * update_mb)
    found = plan(asked_for)
    cost = cost_per_month(found, dict(prices))
    if as_json:
        click.echo(msgspec.json.encode({**found._asdict(), **({"cost_per_month": cost} if cost else {})}).decode())
    else:
        click.echo("\n".join(_lines(found, cost)))


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def _lines(found: Plan, cost: Mapping[str, float]) -> list[str]:
    rows = {
        "check-ins of idle devices": f"{_rate(found.check_ins_per_second)} a second, each device every "
        f"{_time(found.check_in_every_s)}",
        "web processes": f"{found.web_processes}, {_size(found.web_memory_bytes)} together",
        "worker cores": f"{found.worker_cores}; a merge takes {_size(found.worker_memory_bytes)} of memory and "
        f"{_size(found.worker_disk_bytes)} of temporary disk",
        "beats": "2, of which one acts",
        "PostgreSQL": f"{_size(found.database_bytes)} after a year and {_size(found.database_bytes_per_year)} more "
        f"with each further one, {_size(found.wal_bytes_per_day)} of log a day",
        "object storage": f"{_size(found.stored_update_bytes)} of updates, and the versions that are kept",
        "network": f"{_size(found.down_bytes_per_day)} a day down to devices, {_size(found.up_bytes_per_day)} up",
    }
    if cost:
        parts = ", ".join(f"{name} {part:,.0f}" for name, part in cost.items())
        rows["cost of these"] = f"{sum(cost.values()):,.0f} a month by your prices ({parts})"
    width = max(map(len, rows))
    return [f"{name:<{width}}  {says}" for name, says in rows.items()]


def _size(size_bytes: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes / 1e3:.0f} kB"


def _time(seconds: float) -> str:
    for unit, factor in (("h", 3600), ("min", 60)):
        if seconds >= 2 * factor:
            return f"{seconds / factor:.1f} {unit}"
    return f"{seconds:.0f} s"
