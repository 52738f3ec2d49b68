"""The `coterie` command: `compile`, `up`, and Django's management commands with the project's settings.

Each imports what it needs when it is wanted: `compile` works without Django, and `up` waits for no library.
"""

import argparse
import os
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from tempfile import TemporaryDirectory

NO_PLATFORM = "coterie: this command needs the platform: pip install 'coterie[platform]'; `coterie compile` does not."


def main() -> None:
    """Run the command that the arguments name; ``--state DIR`` goes with all but `compile`, which has no state."""
    if sys.argv[1:2] == ["compile"]:
        from coterie.offline.command import main as compile_offline

        compile_offline(sys.argv[2:], prog="coterie compile")
    if find_spec("django") is None:
        sys.exit(NO_PLATFORM)
    _manage()


def _manage() -> None:
    # Settings read it while they load, which is before Django looks at a command's own arguments.
    before_settings = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    before_settings.add_argument("--state")
    ours, arguments = before_settings.parse_known_args()
    arguments[:1] = [name.replace("-", "_") if not name.startswith("-") else name for name in arguments[:1]]
    with ExitStack() as stack:
        state = ours.state
        if state is None and arguments[:1] in (["demo"], ["simulate"]):
            state = stack.enter_context(TemporaryDirectory(prefix="coterie-"))  # nothing of it stays
        if state is not None:
            os.environ["COTERIE_STATE"] = state  # noqa: TID251
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it
        _perform(arguments)
    if arguments in ([], ["help"], ["--help"]):
        sys.stdout.write("\n[platform]\n    up\n\n[offline]\n    compile\n")


def _perform(arguments: list[str]) -> None:
    if arguments[:1] == ["up"]:
        from coterie.config.up import main as up

        up(arguments[1:], prog="coterie up")
    else:
        from django.core.management import execute_from_command_line

        execute_from_command_line([sys.argv[0], *arguments])
