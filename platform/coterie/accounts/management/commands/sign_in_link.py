"""``coterie sign_in_link``: the path that signs an operator in once, for who has a shell on the platform's machine."""

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import issue_sign_in_link
from coterie.core.errors import CoterieError


class Command(ShellCommand):
    """Prints a sign-in path."""

    help = "Print a link that signs an operator in once; without COTERIE_PUBLIC_URL, its part behind the address."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who signs in."""
        parser.add_argument("operator", metavar="NAME")

    def handle(self, *, operator: str, **_: object) -> None:
        """Print the path. Raises CommandError when there is no such operator."""
        try:
            self.stdout.write(settings.PUBLIC_URL + issue_sign_in_link(operator=operator_named(operator)))
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
