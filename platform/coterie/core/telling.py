"""What management commands say: sentences for people, or one JSON value for programs."""

import msgspec
from django.core.management.base import BaseCommand, CommandParser


class TellingCommand(BaseCommand):
    """A command with ``--json``; a subclass that adds arguments of its own calls `add_arguments` of this one, too."""

    def add_arguments(self, parser: CommandParser) -> None:
        """How to print."""
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print what was done or found as JSON, and nothing else"
        )

    def tell(self, told: object, *sentences: str, as_json: bool) -> None:
        """Print `told` as JSON where that is asked for, else `sentences`, one a line."""
        lines = (msgspec.json.encode(told).decode(),) if as_json else sentences
        for line in lines:
            self.stdout.write(line)
