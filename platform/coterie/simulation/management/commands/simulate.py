"""``coterie simulate``: what a plan would do to a fleet, on this machine, in simulated time."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from coterie.core.errors import CoterieError
from coterie.core.json_out import HELP as JSON_HELP
from coterie.core.json_out import is_alone, write_json
from coterie.core.login import Login
from coterie.simulation.contenders import Contender, read_contender, shipped_contenders
from coterie.simulation.costs import RADIOS, Costs, NetworkName
from coterie.simulation.errors import DoesNotFit, MissingPackage
from coterie.simulation.fleet.events import EventsRun, simulate_events
from coterie.simulation.fleet.profile import read_profile, shipped_profiles
from coterie.simulation.fleet.run_options import BATCH_SIZE, BEYOND_ROUNDS, LEAST, RunOptions, fleet_run
from coterie.simulation.fleet.runner import HERE, Runner
from coterie.simulation.fleet.runners import RUNNERS, On, runner_on
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.sweep import parse_dimension, sweep
from coterie.simulation.fleet.table import events_table, fleet_table, sweep_table
from coterie.simulation.own_work import own_scenario
from coterie.simulation.progress import SimulationProgress
from coterie.simulation.reporting import reporting
from coterie.simulation.scenario import Scenario, read_scenario, shipped_scenarios
from coterie.simulation.simulate import simulate
from coterie.simulation.table import outcome_table, shipped_table, ways_table
from coterie.simulation.ways import ComparisonOptions, compare_ways
from coterie_learning.custom_kinds import named_failures
from coterie_learning.plan import Plan
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json

MOST_DEVICES = 10_000_000
MOST_OF_EVENTS = 100_000_000
"""Devices that nothing is computed for; a hundred million take about ten gigabytes."""
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
            "--data",
            type=Path,
            metavar="SAMPLES",
            help="samples, x or inputs by name and y: an NPZ file with whose each is (user), as a stream; "
            "with --split also a Parquet file or a directory",
        )
        parser.add_argument("--devices", type=int, metavar="N", help="virtual devices (default: the scenario's)")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="decides everything that is drawn")
        parser.add_argument(
            "--rounds",
            type=int,
            metavar="N",
            help="rounds to hold; then devices go on with what they have "
            f"(default: as many as there is simulated time for, with --split {RunOptions('').rounds})",
        )
        parser.add_argument("--json", type=Path, metavar="OUT", help=JSON_HELP)
        parser.add_argument("--plot", type=Path, metavar="OUT.png", help="draw accuracy over time, or a sweep")
        ways = parser.add_argument_group("four ways", "the plan beside the ways that the field compares it with")
        ways.add_argument(
            "--baselines",
            action="store_true",
            help="offloading, distributed training, the plan, and help between devices: accuracy, bytes, joules, time",
        )
        ways.add_argument("--network", choices=list(RADIOS), help="the radio of devices (default: wifi)")
        ways.add_argument("--target", type=float, metavar="X", help="accuracy (default: 0.95 of the best way's)")
        fleet = parser.add_argument_group(
            "fleets", "with --split devices hold rounds on samples of yours, or learn while these come (--drift)"
        )
        fleet.add_argument("--split", metavar="S", help="iid, dirichlet:ALPHA, pathological:SHARDS or by:COLUMN")
        for one in BEYOND_ROUNDS:
            fleet.add_argument(one.flag, type=Path if one.is_file else str, metavar=one.metavar, help=one.help)
        fleet.add_argument("--each", type=int, metavar="N", help="draw so many samples a device, with replacement")
        fleet.add_argument("--days", type=float, metavar="D", help="simulated days at most (default: 30)")
        fleet.add_argument(
            "--fleet",
            metavar="F",
            help=f"{', '.join(shipped_profiles())}; TOML; a fleet's trace",
        )
        fleet.add_argument("--batch-size", type=int, metavar="N", help=f"samples in a step (default: {BATCH_SIZE})")
        fleet.add_argument("--held-out", type=float, metavar="X", help="share that judges versions (default: 0.2)")
        fleet.add_argument("--evaluate-every", type=int, metavar="N", help="rounds between two judgements (default: 1)")
        fleet.add_argument(
            "--executor",
            choices=["auto", "batched", "exact"],
            help="many devices in one step; or one by one by the agent's own code, byte for byte (default: auto)",
        )
        fleet.add_argument("--workers", type=int, metavar="N", help="processes that train (default: one a core)")
        fleet.add_argument(
            "--try", action="append", dest="tries", metavar="SLOT.FIELD=V,V", help="sweep: what to try; may be repeated"
        )
        fleet.add_argument("--search", metavar="S", help="grid, random:N or halving (default: grid)")
        fleet.add_argument("--seeds", type=int, metavar="N", help="of a sweep, and as many that judge (default: 3)")
        fleet.add_argument("--keep", type=Path, metavar="DIR", help="go on from here after an interruption")
        fleet.add_argument(
            "--on",
            choices=RUNNERS,
            help="who performs runs: this machine (default), the workers of a platform (`coterie login`), or Ray",
        )
        fleet.add_argument("--login", type=Path, metavar="FILE", help="which platform, as `coterie login` writes it")
        events = parser.add_argument_group(
            "events alone", "who is asked and in time, and the platform's load, for millions of devices; trains nothing"
        )
        events.add_argument("--events", action="store_true", help="with --devices, --fleet, --days and --rounds")
        events.add_argument("--version-bytes", type=int, metavar="B", help="that a device fetches (default: 1000000)")
        events.add_argument("--update-bytes", type=int, metavar="B", help="that it sends (default: 250000)")
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
        split: str | None = None,
        keep: Path | None = None,
        tries: Sequence[str] | None = None,
        search: str | None = None,
        seeds: int | None = None,
        on: On | None = None,
        login: Path | None = None,
        baselines: bool = False,
        network: NetworkName | None = None,
        target: float | None = None,
        events: bool = False,
        version_bytes: int | None = None,
        update_bytes: int | None = None,
        **more: object,
    ) -> None:
        """Simulate. Raises CommandError with what is wrong."""
        if list:
            Console().print(shipped_table(shipped_contenders(), shipped_scenarios()))
            return
        sizes = {"version_bytes": version_bytes, "update_bytes": update_bytes}
        sizes_given = {name: size for name, size in sizes.items() if size is not None}
        given = {name: more[name] for name in OF_FLEETS if more.get(name) is not None}
        if events:
            with _failures_told("nothing is written"):
                _events(plan, devices, seed, json, {**given, **sizes_given}).show(json, None)
            return
        if sizes_given:
            raise CommandError("--version-bytes and --update-bytes go with --events")
        _check(plan=plan, scenario=scenario, own=(pair, data), devices=devices, seed=seed, outputs=(json, plot))
        _check_ways(baselines=baselines, network=network, target=target, split=split, plot=plot)
        rounds = given.pop("rounds", None) if split is None else None
        assert rounds is None or isinstance(rounds, int)
        if rounds is not None and (baselines or rounds < 1):
            raise CommandError("--rounds is at least 1, and goes without --baselines")
        if split is not None and pair is None:
            raise CommandError("--split divides samples of your own: --pair M.pt2 --data S.npz")
        beside = {"keep": keep, "try": tries, "search": search, "seeds": seeds, "on": on}
        _check_fleet(split, {**given, **{name: one for name, one in beside.items() if one is not None}}, devices)
        assert plan is not None
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        kept = "nothing is written" if keep is None else f"the same command goes on from {keep}"
        if on == "platform":
            kept = "the platform goes on; the same command finds what is done"
        with _failures_told(kept):
            if plot is not None and find_spec("matplotlib") is None:
                raise MissingPackage(package="matplotlib", purpose="plots", extra="simulation")
            if split is not None:
                assert pair is not None and data is not None
                asked = _asked(split, devices=devices, seed=seed, given=given)
                with runner_on(on or "here", partial(_read_login, login)) as runner:
                    if tries:
                        found = _sweep(plan, pair, data, asked, tries, search or "grid", seeds or SEEDS, runner)
                    else:
                        found = _simulate_fleet(plan, pair, data, asked, keep, runner)
            else:
                contender = read_contender(plan)
                setting = own_scenario(pair, data) if pair and data else read_scenario(str(scenario))
                if baselines:
                    found = _compare(plan, contender, setting, devices, seed, network=network, target=target)
                else:
                    found = _simulate(plan, contender, setting, devices, seed, rounds)
            found.show(json, plot)


class _Found(NamedTuple):
    """What a simulation found, as it is shown, written and drawn."""

    table: Table
    json: bytes
    draw: Callable[[Path], None] | None = None

    def show(self, json: Path | None, plot: Path | None) -> None:
        """On the terminal, and in the files that are given."""
        if not is_alone(json):
            Console().print(self.table)
        if json is not None:
            write_json(self.json, json)
        if plot is not None:
            assert self.draw is not None, "a plot is asked only of what has one"
            self.draw(plot)


@contextmanager
def _failures_told(kept: str) -> Iterator[None]:
    """Failures as CommandError; `kept` says what an interruption leaves."""
    try:
        with named_failures(CoterieError):
            yield
    except KeyboardInterrupt:
        raise CommandError(f"ended before it was done; {kept}", returncode=INTERRUPTED) from None
    except (CoterieError, WireError) as error:
        raise CommandError(f"{error} [{error.code}]") from error


OF_EVENTS = {"rounds", "days", "fleet", "version_bytes", "update_bytes"}


def _events(plan: str | None, devices: int | None, seed: int, json: Path | None, given: Mapping[str, Any]) -> _Found:
    others = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(given.keys() - OF_EVENTS))
    if plan is None or devices is None or others:
        raise CommandError(
            f"--events takes a plan and --devices, and trains nothing{': not ' + others if others else ''}"
        )
    if not 1 <= devices <= MOST_OF_EVENTS or any(given.get(name, 1) <= 0 for name in OF_EVENTS - {"fleet"}):
        raise CommandError(f"--devices goes from 1 to {MOST_OF_EVENTS}, and other numbers are more than 0")
    if json is not None and not json.absolute().parent.is_dir():
        raise CommandError(f"there is no directory {json.absolute().parent} to write {json.name} to")
    contender, fleet = read_contender(plan), read_profile(given.get("fleet"))
    if not isinstance(contender, Plan):
        raise DoesNotFit(detail="a fleet runs the rounds of a plan, and this is a baseline")
    run = EventsRun(plan=contender, devices=devices, seed=seed, **{**given, "fleet": fleet})
    with reporting(f"{plan}: events of {devices:,} devices") as report:
        outcome = simulate_events(run, report=report)
    return _Found(events_table(plan, outcome), outcome.json())


def _simulate(
    plan: str, contender: Contender, setting: Scenario, devices: int | None, seed: int, rounds: int | None
) -> _Found:
    devices = devices or setting.devices
    holds_rounds = isinstance(contender, Plan) and contender.pace.holds_rounds()
    if rounds is not None and not holds_rounds:
        raise DoesNotFit(detail="the plan holds no rounds, and --rounds says how many to hold")
    shorter = "--rounds N holds so many, a longer pause_s in the plan's pace fewer" if holds_rounds else ""
    with reporting(f"{plan} on {setting.title}", shorter) as report:
        outcome = simulate(contender, setting, devices=devices, seed=seed, report=report, most_rounds=rounds)

    def draw(path: Path) -> None:
        from coterie.simulation.plot import draw as draw_outcome  # only now: it takes a second to import

        draw_outcome(plan, outcome, path)

    return _Found(outcome_table(plan, outcome), outcome.json(), draw)


def _compare(
    plan: str,
    contender: Contender,
    setting: Scenario,
    devices: int | None,
    seed: int,
    *,
    network: NetworkName | None,
    target: float | None,
) -> _Found:
    if not isinstance(contender, Plan):
        raise DoesNotFit(detail="the federated way is a plan, and this is a baseline")
    costs = Costs() if network is None else Costs(network=network)
    asked = ComparisonOptions(contender, devices or setting.devices, seed, target, costs)
    with reporting(f"four ways on {setting.title}") as report:
        outcome = compare_ways(asked, setting, report=report)
    return _Found(ways_table(plan, outcome), outcome.json())


def _read_login(path: Path | None) -> Login:
    try:
        return from_json(b"" if path is None else path.read_bytes(), Login)
    except (*UNREADABLE, OSError):
        raise CommandError("--on platform: say which platform you mean first: coterie login URL") from None


def _simulate_fleet(plan: str, pair: Path, data: Path, asked: RunOptions, keep: Path | None, runner: Runner) -> _Found:
    run = fleet_run(read_contender(plan), pair, data, asked)
    with reporting(f"{plan}: {pair.name} on {data.name}") as report:
        if runner is HERE:
            outcome = simulate_fleet(run, report=report, keep=keep)
        else:
            (outcome,) = runner.outcomes([run], lambda held: report(SimulationProgress(held / run.rounds, int(held))))

    def draw(path: Path) -> None:
        from coterie.simulation.plot import fleet_figure  # as above

        fleet_figure(outcome).savefig(path, dpi=150)

    return _Found(fleet_table(plan, outcome), outcome.json(), draw)


SEEDS = 3


def _sweep(
    plan: str, pair: Path, data: Path, asked: RunOptions, tries: Sequence[str], search: str, seeds: int, runner: Runner
) -> _Found:
    dimensions = [parse_dimension(one) for one in tries]
    run = fleet_run(read_contender(plan), pair, data, asked)
    with reporting(f"{plan}: {search} over {', '.join(one.path for one in dimensions)}") as report:
        outcome = sweep(run, dimensions, search=search, seeds=seeds, report=report, runner=runner)

    def draw(path: Path) -> None:
        from coterie.simulation.plot import sweep_figure  # as above

        sweep_figure(outcome).savefig(path, dpi=150)

    return _Found(sweep_table(plan, outcome), outcome.json(), draw)


OF_FLEETS = (
    "each",
    "rounds",
    "days",
    "fleet",
    "batch_size",
    "held_out",
    "evaluate_every",
    "executor",
    "workers",
    *(one.field for one in BEYOND_ROUNDS),
)
"""Options that go with --split."""


def _asked(split: str, *, devices: int | None, seed: int, given: Mapping[str, Any]) -> RunOptions:
    called = {"held_out_share" if name == "held_out" else name: value for name, value in given.items()}
    return RunOptions(split, devices=devices, seed=seed, **called)


def _check_fleet(split: str | None, given: Mapping[str, object], devices: int | None) -> None:
    def option(name: str) -> str:
        return f"--{name.replace('_', '-')}"

    if split is None:
        if given:
            raise CommandError(f"{', '.join(map(option, given))}: for fleets, which are made by --split")
        return
    if "try" not in given and {"search", "seeds"} & given.keys():
        raise CommandError("--search and --seeds are of sweeps: say what to try, --try local.learning_rate=0.03,0.1")
    if "try" in given and "keep" in given:
        raise CommandError("--keep goes with one simulation, not with a sweep")
    if "keep" in given and given.get("on", "here") != "here":
        raise CommandError("--keep is of this machine; a platform keeps by itself what a run goes on from")
    for name, least in {**LEAST, "seeds": 1}.items():
        value = given.get(name)
        if isinstance(value, int | float) and value < least:
            raise CommandError(f"{option(name)} is at least {least:g}")
    share = given.get("held_out")
    if isinstance(share, float) and not 0 < share < 1:
        raise CommandError("--held-out is a share between 0 and 1")
    if given.get("each") is not None and devices is None:
        raise CommandError("--each makes as many devices as it is told: give --devices")


def _check_ways(
    *, baselines: bool, network: NetworkName | None, target: float | None, split: str | None, plot: Path | None
) -> None:
    if not baselines and (network is not None or target is not None):
        raise CommandError("--network and --target go with --baselines")
    if baselines and (split is not None or plot is not None):
        raise CommandError("--baselines compares streams of samples, as a table and --json: without --split and --plot")
    if target is not None and not 0 < target <= 1:
        raise CommandError("--target is an accuracy, above 0 and at most 1")


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
    if plan is None:
        raise CommandError("say what to run: coterie simulate PLAN --scenario S; --list shows what is shipped")
    if scenario is None and pair is None and data is None:
        raise CommandError(f"say on what {plan} is run: --scenario S, or --pair M.pt2 --data S.npz of your own")
    if (pair is None) != (data is None) or (pair is not None and scenario is not None):
        raise CommandError("a model and samples of your own go together, without a scenario: --pair M.pt2 --data S.npz")
    for path in own:
        if path is not None and not path.exists():
            raise CommandError(f"there is no file {path}")
    if devices is not None and not 1 <= devices <= MOST_DEVICES:
        raise CommandError(f"--devices goes from 1 to {MOST_DEVICES}")
    if seed < 0:
        raise CommandError("--seed must not be negative")
    for path in outputs:
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"there is no directory {path.absolute().parent} to write {path.name} to")
