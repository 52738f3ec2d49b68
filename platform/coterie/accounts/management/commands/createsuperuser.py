"""``coterie createsuperuser``: Django's command, whose administrator the audit log tells of."""

import sys
from contextlib import redirect_stdout
from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandParser
from django.db.models import Field

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.models import Operator


class Command(ShellCommand, createsuperuser.Command):
    """Makes an administrator, whom the manager of operators records."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's, and how to print."""
        super().add_arguments(parser)
        createsuperuser.Command.add_arguments(self, parser)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - Django's signature
        """Ask for what was not given, on standard error where the answer is JSON. Raises CommandError."""
        if not options["as_json"]:
            createsuperuser.Command.handle(self, *args, **options)
            return
        self._name = options[Operator.USERNAME_FIELD]
        with redirect_stdout(sys.stderr):
            createsuperuser.Command.handle(self, *args, **options | {"verbosity": 0})
        self.report({"operator": self._name}, as_json=True)

    def get_input_data(self, field: "Field[Any, Any]", message: str, default: str | None = None) -> Any:  # noqa: ANN401
        """Note the name that is typed."""
        given = createsuperuser.Command.get_input_data(self, field, message, default)
        if field.name == Operator.USERNAME_FIELD:
            self._name = given
        return given
