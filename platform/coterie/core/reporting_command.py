"""What management commands print: sentences for people, or one JSON value for programs."""

import msgspec
from django.core.management.base import BaseCommand, CommandParser


class ReportingCommand(BaseCommand):
    """A command with ``--json``; a subclass that adds arguments of its own calls `add_arguments` of this one, too."""

    def add_arguments(self, parser: CommandParser) -> None:
        """How to print."""
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print what was done or found as JSON, and nothing else"
        )

    def report(self, result: object, *sentences: str, as_json: bool) -> None:
        """Print `result` as JSON where `as_json` is set, else `sentences`, one a line."""
        lines = (msgspec.json.encode(result).decode(),) if as_json else sentences
        for line in lines:
            self.stdout.write(line)
