"""``coterie reset-second-factor``: for who has lost app and recovery codes, and a shell on the platform's machine."""

from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.second_factor import reset_second_factor
from coterie.accounts.selectors import operator_named
from coterie.core.errors import CoterieError


class Command(ShellCommand):
    """Takes a second factor away, also where no administrator can sign in any more."""

    help = "Take an operator's second factor away."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        super().add_arguments(parser)
        parser.add_argument("operator", metavar="NAME")

    def handle(self, *, operator: str, as_json: bool, **_: object) -> None:
        """Take it away. Raises CommandError where nobody has the name, or there is none."""
        try:
            reset_second_factor(operator=operator_named(operator))
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        self.report({"operator": operator}, f"{operator} has no second factor any more", as_json=as_json)
