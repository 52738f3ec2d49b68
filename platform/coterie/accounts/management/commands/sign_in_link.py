"""``coterie sign-in-link``: the link that signs an operator in once, for who has a shell on the platform's machine."""

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import issue_sign_in_link
from coterie.core.errors import CoterieError

LOCAL_URL = "http://127.0.0.1:8000"
"""Where `coterie up` answers unless it is told another address."""


class Command(ShellCommand):
    """Prints a sign-in link."""

    help = "Print a link that signs an operator in once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who signs in, and where."""
        parser.add_argument("operator", metavar="NAME")
        parser.add_argument(
            "--url",
            default=settings.PUBLIC_URL,
            help=f"the platform's address (default: COTERIE_PUBLIC_URL, else {LOCAL_URL})",
        )

    def handle(self, *, operator: str, url: str, **_: object) -> None:
        """Print the link. Raises CommandError when there is no such operator."""
        try:
            path = issue_sign_in_link(operator=operator_named(operator))
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        self.stdout.write((url or LOCAL_URL).rstrip("/") + path)
        if not url:
            self.stderr.write("If the platform has another address, say --url, or set COTERIE_PUBLIC_URL.")
