"""``coterie simulate``: what a plan would do to a fleet, on this machine, in simulated time."""

import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from coterie.core.errors import CoterieError
from coterie.simulation.contenders import read_contender, shipped_contenders
from coterie.simulation.errors import MissingPackage
from coterie.simulation.outcome import Outcome
from coterie.simulation.own_work import own_scenario
from coterie.simulation.progress import Lines
from coterie.simulation.scenario import Scenario, read_scenario, shipped_scenarios
from coterie.simulation.simulate import simulate
from coterie.simulation.table import outcome_table, shipped_table
from coterie_wire.errors import WireError

MOST_DEVICES = 100_000
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as shells give it."""


class Command(BaseCommand):
    """Runs a simulation."""

    help = (
        "Run a plan on a scenario with virtual devices and a simulated clock. The kinds are those of production; there "
        "is no server and no database. The same arguments give the same result, byte for byte."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """What to run, and where to put what it finds."""
        parser.add_argument("plan", nargs="?", metavar="PLAN", help="a preset's name, or a TOML file with a plan")
        parser.add_argument("--scenario", metavar="S", help="a shipped scenario's name, or a TOML file")
        parser.add_argument("--pair", type=Path, metavar="DEVICE.pt2", help="a device model of your own, with --data")
        parser.add_argument(
            "--data", type=Path, metavar="SAMPLES.npz", help="samples: x or inputs by name, y, and whose each is (user)"
        )
        parser.add_argument("--devices", type=int, metavar="N", help="virtual devices (default: the scenario's)")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="decides everything that is drawn")
        parser.add_argument("--json", type=Path, metavar="OUT", help="write the outcome as JSON")
        parser.add_argument("--plot", type=Path, metavar="OUT.png", help="draw accuracy over time")
        parser.add_argument("--list", action="store_true", help="show presets and scenarios, and end")

    def handle(
        self,
        *,
        plan: str | None,
        scenario: str | None,
        pair: Path | None,
        data: Path | None,
        devices: int | None,
        seed: int,
        json: Path | None,
        plot: Path | None,
        list: bool,
        **_: object,
    ) -> None:
        """Simulate. Raises CommandError with what is wrong."""
        console = Console()
        if list:
            console.print(shipped_table(shipped_contenders(), shipped_scenarios()))
            return
        _check(plan=plan, scenario=scenario, own=(pair, data), devices=devices, seed=seed, outputs=(json, plot))
        assert plan is not None
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            if plot is not None and find_spec("matplotlib") is None:
                raise MissingPackage(package="matplotlib", purpose="plots")
            setting = own_scenario(pair, data) if pair and data else read_scenario(str(scenario))
            outcome = _simulate(plan, setting, devices, seed)
            console.print(outcome_table(plan, outcome))
            if json is not None:
                json.write_bytes(outcome.json())
            if plot is not None:
                from coterie.simulation.plot import draw  # only now: it takes a second to import

                draw(plan, outcome, plot)
        except KeyboardInterrupt:
            raise CommandError("ended before it was done; nothing is written", returncode=INTERRUPTED) from None
        except (CoterieError, WireError) as error:
            raise CommandError(f"{error} [{error.code}]") from error


def _simulate(plan: str, setting: Scenario, devices: int | None, seed: int) -> Outcome:
    contender = read_contender(plan)
    name, devices = f"{plan} on {setting.title}", devices or setting.devices
    console = Console(stderr=True)
    if not console.is_terminal:
        return simulate(contender, setting, devices=devices, seed=seed, report=Lines(name, sys.stderr, time.monotonic))
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        return simulate(
            contender,
            setting,
            devices=devices,
            seed=seed,
            report=lambda progress: bar.update(task, completed=progress.share),
        )


def _check(
    *,
    plan: str | None,
    scenario: str | None,
    own: tuple[Path | None, Path | None],
    devices: int | None,
    seed: int,
    outputs: tuple[Path | None, ...],
) -> None:
    pair, data = own
    if plan is None or (scenario is None and pair is None and data is None):
        raise CommandError("say what to run: coterie simulate PLAN --scenario S; --list shows what is shipped")
    if (pair is None) != (data is None) or (pair is not None and scenario is not None):
        raise CommandError("a model and samples of your own go together, without a scenario: --pair M.pt2 --data S.npz")
    for path in own:
        if path is not None and not path.is_file():
            raise CommandError(f"there is no file {path}")
    if devices is not None and not 1 <= devices <= MOST_DEVICES:
        raise CommandError(f"--devices goes from 1 to {MOST_DEVICES}")
    if seed < 0:
        raise CommandError("--seed must not be negative")
    for path in outputs:
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"there is no directory {path.absolute().parent} to write {path.name} to")
