"""``coterie sign-in-link``: the link that signs an operator in once, for who has a shell on the platform's machine."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import issue_sign_in_link
from coterie.core.errors import CoterieError
from coterie.core.own_address import is_answered, noted_address

NO_ADDRESS = "It is not known where the platform answers: say --url, or set COTERIE_PUBLIC_URL. [cli.no_address]"


class Command(ShellCommand):
    """Prints a sign-in link."""

    help = "Print a link that signs an operator in once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who signs in, and where."""
        super().add_arguments(parser)
        parser.add_argument("operator", metavar="NAME")
        parser.add_argument(
            "--url",
            default=settings.PUBLIC_URL,
            help="the platform's address (default: COTERIE_PUBLIC_URL, else where `coterie up` answers)",
        )

    def handle(self, *, operator: str, url: str, as_json: bool, **_: object) -> None:
        """Print the link. Raises CommandError when there is no such operator, or no address is known."""
        address = url or noted_address(Path(settings.STATE))
        if not address:
            raise CommandError(NO_ADDRESS)
        try:
            path = issue_sign_in_link(operator=operator_named(operator))
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        link = address.rstrip("/") + path
        self.report({"operator": operator, "url": link}, link, as_json=as_json)
        if not url and not is_answered(address):
            self.stderr.write("The platform does not run now; this is where it answered last.")
