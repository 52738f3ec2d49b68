"""``coterie change-role``: another role for somebody, for who has a shell on the platform's machine."""

from django.core.management.base import CommandError, CommandParser

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import change_operator
from coterie.core.acting import OperatorRole
from coterie.core.errors import CoterieError


class Command(ShellCommand):
    """Changes a role, also where no administrator can sign in any more."""

    help = "Give an operator another role."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose role, and which."""
        super().add_arguments(parser)
        parser.add_argument("operator", metavar="NAME")
        parser.add_argument("role", choices=[role.value for role in OperatorRole])

    def handle(self, *, operator: str, role: str, as_json: bool, **_: object) -> None:
        """Change it. Raises CommandError where nobody has the name, or no administrator would be left."""
        try:
            change_operator(operator=operator_named(operator), role=OperatorRole(role))
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        self.report({"operator": operator, "role": role}, f"{operator} is {role}", as_json=as_json)
