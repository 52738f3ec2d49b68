"""The state directory of the platform on this machine, and Django with its settings; reading creates nothing."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import click

from coterie.cli.failures import Failed
from coterie.config.env import Env

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand

DATABASE = "coterie.sqlite3"
UNSAID = {
    "verbosity": 1,
    "traceback": False,
    "no_color": False,
    "force_color": False,
    "skip_checks": False,
    "settings": None,
    "pythonpath": None,
}
"""Options that Django gives every command, which are `manage.py`'s alone."""


def choose_state(state: Path | None) -> None:
    """Have the settings take `state`, where it is given, as the state directory. Raises Failed."""
    if state is not None:
        os.environ["COTERIE_STATE"] = str(state)  # noqa: TID251 - settings read it while they load
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it


def need_state(state: Path | None) -> None:
    """`choose_state`, for a command that works on what is there. Raises Failed where nothing is, or another user's."""
    choose_state(state)
    env = Env.read()
    for path in (env.state, env.state / DATABASE, env.state / "secret-key"):
        if os.access(path, os.F_OK) and not os.access(path, os.R_OK | os.W_OK):
            sentence = f"{path.absolute()} is another user's: run this as the user that the platform runs as."
            raise Failed("cli.state_unusable", sentence)
    if env.mode == "embedded" and not (env.state / DATABASE).is_file():
        raise Failed(
            "cli.no_state",
            f"There is no platform in {env.state.absolute()}: name its directory with --state, or start one with "
            "`coterie up`.",
        )


def need_mode(state: Path | None, mode: Literal["embedded", "scaled"], otherwise: str) -> None:
    """`choose_state`, for a command of one mode alone. Raises Failed with what to do `otherwise`."""
    choose_state(state)
    if Env.read().mode != mode:
        raise Failed("cli.other_mode", otherwise)


def make_state(state: Path | None) -> None:
    """`choose_state`, for a command that begins a platform. Raises Failed where the directory cannot be used."""
    choose_state(state)
    directory = Env.read().state.absolute()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = directory / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        sentence = f"The state directory {directory} cannot be used: {error.strerror}."
        raise Failed("cli.state_unusable", sentence) from error


@contextmanager
def passing_state(state: Path | None) -> Iterator[None]:
    """`choose_state`, for a command that leaves nothing behind: in a temporary directory, where `state` is none."""
    if state is not None:
        choose_state(state)
        yield
        return
    with TemporaryDirectory(prefix="coterie-") as directory:
        choose_state(Path(directory))
        yield


def manage(command: str, arguments: Sequence[str]) -> None:
    """Run the management command that people call `command`.

    Raises ClickException with what it says is wrong, also where the tables are those of another version.
    """
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import get_commands, load_command_class
    from django.db import connections

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise Failed("cli.environment", f"The environment does not fit: {error}.") from error
    name = command.replace("-", "_")
    try:
        with tables_checked():
            perform(command, load_command_class(get_commands()[name], name), arguments)
    finally:
        connections.close_all()


@contextmanager
def tables_checked() -> Iterator[None]:
    """Raises Failed where what is done here fails because the database is away or has tables of another version."""
    from django.db import DatabaseError

    from coterie.config.schema import NoDatabase, OtherSchema, refuse_to_start

    try:
        yield
    except DatabaseError as error:
        try:
            refuse_to_start()
        except NoDatabase as away:
            raise Failed("cli.no_database", f"This cannot be done now: {away}.") from error
        except OtherSchema as other:
            raise Failed("cli.other_schema", f"This cannot be done yet: {other}.") from error
        raise


def perform(command: str, managed: "BaseCommand", arguments: Sequence[str]) -> None:
    """Run `managed` as people call it: `command`. Raises ClickException with what it says is wrong."""
    from django.core.management.base import CommandError, CommandParser

    parser = CommandParser(prog=f"coterie {command}", description=managed.help, called_from_command_line=True)
    managed.add_arguments(parser)
    given = UNSAID | vars(parser.parse_args(arguments))
    try:
        managed.execute(*given.pop("args", ()), **given)
    except CommandError as error:
        raise click.ClickException(str(error)) from error
