"""``coterie audit-privacy``: what attacks on a plan win, with its privacy and without."""

from pathlib import Path

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from coterie.core.errors import CoterieError
from coterie.core.json_out import HELP as JSON_HELP
from coterie.core.json_out import is_alone, write_json
from coterie.simulation.attacks.audit import Audit, audit, most_allowed
from coterie.simulation.attacks.membership import Advantage
from coterie.simulation.contenders import read_contender
from coterie.simulation.own_work import own_scenario
from coterie.simulation.reporting import reporting
from coterie.simulation.scenario import read_scenario
from coterie_learning.client.optimisation import Diverged
from coterie_learning.custom_kinds import named_failures
from coterie_learning.plan import Plan
from coterie_wire.errors import WireError

FEWEST_TRIALS, MOST_TRIALS = 10, 10_000


class Command(BaseCommand):
    """Runs attacks."""

    help = (
        "Attack one round of a plan, in simulation: membership inference (was this device in the round?) and gradient "
        "inversion (what did it train on?), by the platform and by whoever has versions. Prints what each wins over "
        "chance, without the plan's privacy and with it. The attacker knows the version before and, for membership, "
        "the device's samples; no attack here is a proof, and one that wins nothing shows only that it did not. The "
        "same arguments give the same result."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """What to attack, and how often."""
        parser.add_argument("plan", metavar="PLAN", help="a preset's name, or a TOML file with a plan")
        parser.add_argument(
            "--scenario", default="digits-people", metavar="S", help="a shipped scenario's name, or a TOML file"
        )
        parser.add_argument("--pair", type=Path, metavar="DEVICE.pt2", help="a device model of your own, with --data")
        parser.add_argument("--data", type=Path, metavar="SAMPLES.npz", help="samples of your own, with --pair")
        parser.add_argument("--trials", type=int, default=200, metavar="N", help="of each attack (default: 200)")
        parser.add_argument(
            "--samples", type=int, default=10, metavar="N", help="a device trains on, for membership (default: 10)"
        )
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="decides everything that is drawn")
        parser.add_argument("--json", type=Path, metavar="OUT", help=JSON_HELP)

    def handle(
        self,
        *,
        plan: str,
        scenario: str,
        pair: Path | None,
        data: Path | None,
        trials: int,
        samples: int,
        seed: int,
        json: Path | None,
        **_: object,
    ) -> None:
        """Attack. Raises CommandError with what is wrong."""
        if not FEWEST_TRIALS <= trials <= MOST_TRIALS:
            raise CommandError(f"--trials goes from {FEWEST_TRIALS} to {MOST_TRIALS:,}")
        if samples < 1 or seed < 0:
            raise CommandError("--samples must be 1 at least, and --seed not negative")
        if (pair is None) != (data is None):
            raise CommandError("a model and samples of your own go together: --pair M.pt2 --data S.npz")
        try:
            contender = read_contender(plan)
            if not isinstance(contender, Plan):
                raise CommandError(f"{plan} is a baseline without rounds; there are no updates to attack")
            setting = own_scenario(pair, data) if pair and data else read_scenario(scenario)
            with named_failures(CoterieError, Diverged), reporting(f"attacks on {plan}") as report:
                found = audit(contender, setting, trials=trials, samples=samples, seed=seed, report=report)
        except (CoterieError, WireError) as error:
            raise CommandError(f"{error} [{error.code}]") from error
        except Diverged as error:
            raise CommandError("training diverged: take a smaller learning rate [simulation.diverged]") from error
        if not is_alone(json):
            _show(Console(), plan, found)
        if json is not None:
            write_json(msgspec.json.format(msgspec.json.encode(found), indent=2), json)


def _show(console: Console, plan: str, found: Audit) -> None:
    table = Table(
        title=f"{plan}: one round of {found.devices} devices, {found.trials} trials, seed {found.seed}",
        title_justify="left",
        caption="0 is chance, 1 is always right; ± is the standard error",
        caption_justify="left",
    )
    table.add_column("attack")
    table.add_column("by")
    table.add_column("without privacy", justify="right")
    table.add_column(f"with {found.privacy}", justify="right")
    for one in found.found:
        table.add_row(one.attack, one.attacker, _percent(one.plain), _percent(one.private))
    console.print(table)
    if found.noise_multiplier is not None:
        allowed = most_allowed(found.noise_multiplier)
        console.print(f"The plan's guarantee leaves {allowed:.2f} at most to whoever it holds against, in one release.")
    if found.left_out is not None:
        console.print(f"Not tried: {found.left_out}.")


def _percent(found: Advantage) -> str:
    return f"{found.value:+.2f} ± {found.error:.2f}"
