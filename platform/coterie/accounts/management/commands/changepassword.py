"""``coterie changepassword``: another password for somebody, for who has a shell on the platform's machine."""

from getpass import getpass

from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import reset_password
from coterie.core.errors import CoterieError


class Command(ShellCommand):
    """Asks for the password twice; in the place of Django's command, which would leave no entry in the audit log."""

    help = "Give an operator another password, which is asked for twice; their sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose password."""
        super().add_arguments(parser)
        parser.add_argument("operator", metavar="NAME")

    def handle(self, *, operator: str, as_json: bool, **_: object) -> None:
        """Change it. Raises CommandError where nobody has the name, or the password is weak or mistyped."""
        try:
            person = operator_named(operator)
            new = getpass("Password: ")
            if getpass("Password (again): ") != new:
                raise CommandError("the two passwords differ; nothing has changed")
            reset_password(operator=person, new=new)
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        self.report({"operator": operator}, f"{operator} has another password", as_json=as_json)
