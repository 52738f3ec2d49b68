"""The `coterie` command: Django's management commands, with the project's settings."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run the management command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there
    execute_from_command_line(sys.argv)
