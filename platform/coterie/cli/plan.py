"""``coterie plan``: proposes plans for a goal, from simulations on a fleet; needs no platform."""

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import click

from coterie.cli.failures import Failed, failures_shown
from coterie.cli.login import read_login
from coterie.core.errors import CoterieError
from coterie.core.json_out import HELP as JSON_HELP
from coterie.core.json_out import is_alone, write_json
from coterie.simulation.clock import DAY_S, HOUR_S, in_words
from coterie.simulation.contenders import read_contender
from coterie.simulation.costs import RADIOS, Costs, NetworkName
from coterie.simulation.fleet.planning import Goal, Proposals, propose, usual_dimensions
from coterie.simulation.fleet.profile import shipped_profiles
from coterie.simulation.fleet.run_options import BATCH_SIZE, BEYOND_ROUNDS, RunOptions, fleet_run
from coterie.simulation.fleet.runners import RUNNERS, On, runner_on
from coterie.simulation.fleet.sweep import parse_dimension
from coterie.simulation.privacy_spent import DELTA
from coterie.simulation.reporting import reporting
from coterie_wire.errors import WireError

SECONDS = {"m": 60.0, "h": HOUR_S, "d": DAY_S, "w": 7 * DAY_S}
BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


class Amount(click.ParamType[float]):
    """A number with a unit, such as 7d or 2MB."""

    name = "amount"

    def __init__(self, units: dict[str, float]) -> None:
        self._units = units

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """In the unit that counts as 1."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*({'|'.join(self._units)})", str(value))
        if found is None or not float(found[1]):
            self.fail(f"{value!r} is no number with a unit: {', '.join(self._units)}", param, ctx)
        return float(found[1]) * self._units[found[2]]


FILE = click.Path(exists=True, path_type=Path)
CommandT = TypeVar("CommandT", bound=Callable[..., object])


def beyond_rounds(command: CommandT) -> CommandT:
    """With the options of `BEYOND_ROUNDS`."""
    for one in reversed(BEYOND_ROUNDS):
        kind = FILE if one.is_file else click.STRING
        command = click.option(one.flag, type=kind, metavar=one.metavar, help=one.help)(command)
    return command


@click.command(short_help="Propose plans for a goal, from simulations.")
@click.argument("plan", default="fedavg")
@click.option("--accuracy", type=click.FloatRange(0, 1, min_open=True), required=True, help="on samples held out")
@click.option("--within", type=Amount(SECONDS), required=True, metavar="7d", help="simulated time: m, h, d or w")
@click.option("--bytes-per-device", type=Amount(BYTES), metavar="2MB", help="up and down, of one that takes part")
@click.option("--joules-per-device", type=click.FloatRange(0, min_open=True), metavar="J")
@click.option("--epsilon", type=click.FloatRange(0, min_open=True), help=f"told of any device, at delta {DELTA:g}")
@click.option("--pair", type=FILE, required=True, metavar="DEVICE.pt2", help="the device model")
@click.option("--data", type=FILE, required=True, metavar="SAMPLES", help="as `coterie simulate` takes them")
@click.option("--split", required=True, metavar="S", help="who has which samples: dirichlet:0.3, by:user ...")
@click.option("--devices", type=click.IntRange(1, 10_000_000), metavar="N")
@click.option("--each", type=click.IntRange(min=1), metavar="N", help="samples that each device draws")
@click.option("--fleet", metavar="F", help=f"{', '.join(shipped_profiles())}; TOML; a fleet's trace (coterie twin)")
@beyond_rounds
@click.option("--rounds", type=click.IntRange(1, 10_000), default=90, show_default=True, help="at most")
@click.option("--seeds", type=click.IntRange(1, 20), default=2, show_default=True, help="that judge")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--network", type=click.Choice(list(RADIOS)), default="wifi", show_default=True, help="for the energy")
@click.option("--try", "tries", multiple=True, metavar="SLOT.FIELD=V,V", help="what is tried, instead of the usual")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="processes (default: one a core)")
@click.option("--on", type=click.Choice(RUNNERS), default="here", show_default=True, help="who performs the runs")
@click.option("--plot", type=click.Path(path_type=Path), metavar="OUT.png", help="draw what each proposal takes")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="OUT", help=JSON_HELP)
@failures_shown
def plan(
    plan: str,
    accuracy: float,
    within: float,
    bytes_per_device: float | None,
    joules_per_device: float | None,
    epsilon: float | None,
    pair: Path,
    data: Path,
    split: str,
    devices: int | None,
    each: int | None,
    fleet: str | None,
    drift: str | None,
    cloud: Path | None,
    cloud_data: Path | None,
    rounds: int,
    seeds: int,
    seed: int,
    network: NetworkName,
    tries: tuple[str, ...],
    workers: int | None,
    on: On,
    plot: Path | None,
    json_file: Path | None,
) -> None:
    """Search for plans that reach an accuracy within a time, for so many bytes, joules and epsilon of a device.

    Tries PLAN (a preset or a TOML file) with other step sizes, passes, codecs, sizes of rounds, and half and twice the
    noise where it adds any, on a simulated fleet, and judges the best on seeds that chose nothing.
    `coterie twin FEDERATION --export` makes a fleet's trace.
    """
    if plot is not None and find_spec("matplotlib") is None:
        raise Failed("simulation.missing_package", "Plots need matplotlib: pip install 'coterie[simulation]'.")
    goal = Goal(accuracy, within, bytes_per_device, joules_per_device, epsilon)
    asked = RunOptions(split, devices, each, rounds, seed=seed, workers=workers, batch_size=BATCH_SIZE, fleet=fleet)
    asked = asked._replace(drift=drift, cloud=cloud, cloud_data=cloud_data)
    try:
        run = fleet_run(read_contender(plan), pair, data, asked)
        dimensions = [parse_dimension(one) for one in tries] or usual_dimensions(run)
        with reporting(f"{plan}: {pair.name} on {data.name}") as report, runner_on(on, read_login) as runner:
            costs = Costs(network=network)
            found = propose(run, goal, dimensions, seeds=seeds, costs=costs, report=report, runner=runner)
    except (CoterieError, WireError) as error:
        raise Failed(error.code, str(error)) from error
    if not is_alone(json_file):
        for line in describe(found):
            click.echo(line)
    if plot is not None:
        from coterie.simulation.plot import proposals_figure  # only now: it takes a second to import

        _write(plot, lambda: proposals_figure(found).savefig(plot, dpi=150))
    if json_file is not None:
        _write(json_file, lambda: write_json(found.json(), json_file))


def _write(path: Path, write: Callable[[], object]) -> None:
    """Raises Failed."""
    try:
        write()
    except OSError as error:
        raise Failed("cli.cannot_write", f"{path} cannot be written: {error.strerror}.") from error


def describe(found: Proposals) -> Iterator[str]:
    """What was looked for, then each proposal in three lines: what it changes, its figures, why."""
    goal, reach = found.goal, sum(one.reaches_goal for one in found.proposals)
    wanted = [f"accuracy {goal.accuracy:.3f} within {in_words(goal.within_s)}"]
    if goal.bytes_per_device is not None:
        wanted.append(f"{goal.bytes_per_device / 1e3:,.0f} kB a device")
    if goal.joules_per_device is not None:
        wanted.append(f"{goal.joules_per_device:,.1f} J a device")
    if goal.epsilon is not None:
        wanted.append(f"epsilon {goal.epsilon:g} at delta {DELTA:g}")
    yield f"Goal: {', '.join(wanted)}. {found.tried} plans tried; {reach} of {len(found.proposals)} proposals reach it."
    for number, one in enumerate(found.proposals, 1):
        figures = one.figures
        changes = ", ".join(f"{path}={value}" for path, value in one.values.items()) or "the plan as it is"
        takes = "at the end" if figures.reaches_s is None else f"after {in_words(figures.reaches_s)}"
        yield f"\n{number}. {changes}"
        privacy = one.privacy if figures.epsilon is None else f"{one.privacy}, epsilon {figures.epsilon:.3g}"
        yield (
            f"   accuracy {figures.accuracy:.3f} {takes}; of a device {figures.bytes_per_device / 1e3:,.0f} kB, "
            f"{figures.joules_per_device:,.1f} J, {figures.updates_per_device:.1f} updates; privacy {privacy}"
        )
        yield f"   {one.reason}"
