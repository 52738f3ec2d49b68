"""The `coterie` command: Django's management commands, with the project's settings."""

import argparse
import os
import sys
from contextlib import ExitStack
from tempfile import TemporaryDirectory

from django.core.management import execute_from_command_line


def main() -> None:
    """Run the management command that the arguments name; ``--state DIR`` goes with every one of them."""
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
        execute_from_command_line([sys.argv[0], *arguments])
