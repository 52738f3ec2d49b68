"""``coterie twin``: what a plan would have done to a fleet, from its past; and how good forecasts were."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from coterie.cli.failures import Failed, failures_shown
from coterie.cli.output import JSON, Fields, print_json, print_result, print_rows
from coterie.cli.resources import connected, find_federation
from coterie.simulation.errors import MalformedFile
from coterie.simulation.scenario import read_toml
from coterie_wire.structs import from_json


class _Replay(msgspec.Struct, frozen=True):
    days: float
    devices: int
    replayed: Fields
    happened: Fields


class _Forecasts(msgspec.Struct, frozen=True):
    calibration: Sequence[Fields]
    forecasts: Sequence[Fields]


@click.command(short_help="What a plan would have done, from a fleet's past.")
@click.argument("federation", metavar="ID|SLUG")
@click.option("--plan", type=click.Path(path_type=Path), metavar="PLAN.toml", help="default: the federation's own")
@click.option("--days", type=click.FloatRange(0.01, 14), default=7.0, show_default=True, help="to look back")
@click.option("--rounds", type=click.IntRange(1, 500), default=100, show_default=True, help="at most")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--export", type=click.Path(path_type=Path), metavar="FLEET.json", help="write the fleet's past, and end")
@click.option("--forecasts", is_flag=True, help="show forecasts of rounds, what happened, and how good they are")
@JSON
@failures_shown
def twin(
    federation: str,
    plan: Path | None,
    days: float,
    rounds: int,
    seed: int,
    export: Path | None,
    forecasts: bool,
    as_json: bool,
) -> None:
    """Hold rounds of a plan with what a federation's devices did in the last days, beside the rounds that were.

    With --export the fleet's past goes to a file, without names, for `coterie simulate --fleet FLEET.json`.
    """
    connection = connected()
    path = f"federations/{find_federation(connection, federation)}"
    if export is not None:
        try:
            export.write_bytes(connection.request("GET", f"{path}/twin/", query={"days": str(days)}))
        except OSError as error:
            raise Failed("cli.cannot_write", f"{export} cannot be written: {error.strerror}.") from error
        print_result(
            {"file": str(export), "days": days}, f"{export} has the fleet's last {days:g} days.", as_json=as_json
        )
        return
    if forecasts:
        content = connection.request("GET", f"{path}/forecasts/")
        print_json(content) if as_json else _show_forecasts(from_json(content, _Forecasts))
        return
    asked: dict[str, object] = {"days": days, "rounds": rounds, "seed": seed}
    if plan is not None:
        asked["plan"] = _plan(plan)
    content = connection.request("POST", f"{path}/twin/replay/", body=msgspec.json.encode(asked))
    print_json(content) if as_json else _show_replay(from_json(content, _Replay))


def _plan(path: Path) -> object:
    try:
        return read_toml(path)
    except MalformedFile as error:
        raise Failed(error.code, str(error)) from error


def _show_replay(found: _Replay) -> None:
    click.echo(f"{found.devices} devices, the last {found.days:g} days")
    rows: list[Mapping[str, object]] = [{"what": "replayed", **found.replayed}, {"what": "happened", **found.happened}]
    print_rows(("what", *found.replayed), rows)


def _show_forecasts(found: _Forecasts) -> None:
    for one in found.calibration:
        click.echo(f"{one['figure']}: {one['sentence']}")
    durations = ("duration_low_s", "duration_s", "duration_high_s", "happened_duration_s")
    print_rows(("number", *durations, "lost", "happened_lost"), found.forecasts)
