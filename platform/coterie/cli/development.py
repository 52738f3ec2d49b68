"""Django's own commands, for `manage.py`; without a state directory they create none."""

import sys

from coterie.cli.command import PLACES
from coterie.cli.command import main as coterie
from coterie.cli.state import choose_state, passing_state
from coterie.config.env import Env

DJANGOS = {"migrate"}
"""Commands of `coterie` with fewer options than Django's, which are run here as Django has them."""


def main() -> None:
    """Run the command of `coterie` that the arguments name, else Django's."""
    if sys.argv[1:2] and sys.argv[1].replace("_", "-") in PLACES.keys() - DJANGOS:
        coterie()
        return
    from django.core.management import execute_from_command_line

    if Env.read().state.is_dir():
        choose_state(None)
        execute_from_command_line(sys.argv)
    else:
        with passing_state(None):
            execute_from_command_line(sys.argv)
