"""Commands that run here: a platform's own process, its administration, the demo, simulations and the compiler.

Those that Django's management framework performs get their arguments unchanged: ``coterie NAME --help`` shows them.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from coterie.cli.failures import failures_shown
from coterie.cli.output import JSON
from coterie.cli.state import make_state, manage, need_mode, need_state, passing_state, perform
from coterie.core.login import FILE as LOGIN

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""All arguments but ours are passed on to the command."""
STATE = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="directory that keeps everything (default: ./coterie-state)",
)
ARGUMENTS = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
ASKS_FOR_HELP = {"-h", "--help"}


@click.command(context_settings=PASSED_ON, short_help="Run the platform in embedded mode.")
@STATE
@ARGUMENTS
@failures_shown
def up(state: Path | None, arguments: tuple[str, ...]) -> None:
    """Run the platform in embedded mode: SQLite and files in one directory, no server to install."""
    from coterie.config.up import listen, main, options

    given = options(arguments, prog="coterie up")
    need_mode(state, "embedded", "This is embedded mode; in scaled mode `coterie serve` and Celery run side by side.")
    listener = listen(given)
    make_state(state)
    main(given, listener)


@click.command(context_settings=PASSED_ON, short_help="Run one web process of a platform in scaled mode.")
@STATE
@ARGUMENTS
@failures_shown
def serve(state: Path | None, arguments: tuple[str, ...]) -> None:
    """Run one web process of a platform in scaled mode; Celery's processes run beside it."""
    from coterie.config.serve import main, options

    given = options(arguments, prog="coterie serve")
    need_mode(state, "scaled", "This is scaled mode's; embedded mode is one command: `coterie up`.")
    make_state(state)
    main(given)


@click.command("seed-fleet")
@STATE
@click.option("--devices", type=click.IntRange(min=1), default=5000, show_default=True, help="how many")
@click.option("--seed", type=int, default=1, help="the same number makes the same fleet")
@click.option("--anyway", is_flag=True, help="also where there are devices or pairs already")
@JSON
@failures_shown
def seed_fleet(state: Path | None, devices: int, seed: int, anyway: bool, as_json: bool) -> None:
    """Fill an empty platform with a fleet like a real one, to look at the console."""
    make_state(state)
    flags = _flags(anyway=anyway, json=as_json)
    manage("seed-fleet", ("--devices", str(devices), "--seed", str(seed), *flags))


@click.command(short_help="Bring the database to this version; `coterie up` does it by itself.")
@STATE
@click.option("--check", is_flag=True, help="change nothing; exit with 1 where something would be changed")
@click.option("--plan", is_flag=True, help="change nothing; say what would be changed")
@JSON
@failures_shown
def migrate(state: Path | None, check: bool, plan: bool, as_json: bool) -> None:
    """Bring the database to this version; `coterie up` does it by itself."""
    make_state(state)
    manage("migrate", _flags(check=check, plan=plan, json=as_json))


def _flags(**given: bool) -> list[str]:
    return [f"--{name}" for name, is_given in given.items() if is_given]


@click.command("compile", context_settings=PASSED_ON, short_help="Check a model without a platform.")
@ARGUMENTS
@failures_shown
def compile_model(arguments: tuple[str, ...]) -> None:
    """Check a model as a platform would, and estimate its cost on devices."""
    from coterie.offline.command import main

    main(list(arguments), prog="coterie compile")


def _passing(name: str, says: str) -> click.Command:
    """A command that leaves no state behind."""

    @failures_shown
    def run(state: Path | None, arguments: tuple[str, ...]) -> None:
        with passing_state(state):
            manage(name, arguments)

    return _command(name, says, run)


def _administering(name: str, says: str) -> click.Command:
    """A command on the state of an existing platform."""

    @failures_shown
    def run(state: Path | None, arguments: tuple[str, ...]) -> None:
        if ASKS_FOR_HELP & set(arguments):
            with passing_state(state):
                manage(name, arguments)
        else:
            need_state(state)
            manage(name, arguments)

    return _command(name, says, run)


def _command(name: str, says: str, run: Callable[..., None]) -> click.Command:
    command = click.command(name, context_settings=PASSED_ON, short_help=says, help=says)
    return command(STATE(ARGUMENTS(run)))


def _simulating(name: str, says: str, more: tuple[str, ...] = ()) -> click.Command:
    """A command of simulations, which need nothing of a platform, nor of Django's settings; it is given `more`, too."""

    @failures_shown
    def run(arguments: tuple[str, ...]) -> None:
        module = import_module(f"coterie.simulation.management.commands.{name.replace('-', '_')}")
        perform(name, module.Command(), (*more, *arguments))

    return click.command(name, context_settings=PASSED_ON, short_help=says, help=says)(ARGUMENTS(run))


demo = _passing("demo", "Run a fleet that learns, live: a platform and eight agents.")
simulate = _simulating("simulate", "Run a plan on virtual devices and a simulated clock.", ("--login", str(LOGIN)))
audit_privacy = _simulating("audit-privacy", "Attack a plan in simulation: membership inference, gradient inversion.")
token = _administering("token", "Make an API token for a program.")
sign_in_link = _administering("sign-in-link", "Print a link that signs an operator in once.")
createsuperuser = _administering("createsuperuser", "Make an administrator.")
changepassword = _administering("changepassword", "Give an operator another password.")
change_role = _administering("change-role", "Give an operator another role.")
rotate_signing_key = _administering("rotate-signing-key", "Sign with another key, which devices take over.")
device_authority = _administering("device-authority", "Show, or replace, what signs devices' certificates.")
reset_second_factor = _administering("reset-second-factor", "Take an operator's second factor away.")
collect_blobs = _administering("collect-blobs", "Remove files that nothing needs.")
prune_history = _administering("prune-history", "Remove rows that only tell of the past.")
doctor = _administering("doctor", "Look at everything that a platform needs.")
answer_stun = _passing("answer-stun", "Tell devices the addresses under which others see them.")
scrub = _administering("scrub", "Read every stored file, and say which are damaged.")
