"""Who acts in a management command: whoever has a shell on the platform's own machine."""

import os
import pwd
from typing import Any

from coterie.core.acting import Actor, OperatorRole, acting_as
from coterie.core.reporting_command import ReportingCommand


def at_the_shell() -> Actor:
    """The account that the process runs under, with every right: it could change the database itself."""
    uid = os.getuid()
    try:
        account = pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's user needs no name
        account = str(uid)
    return Actor(kind="system", id="", name=f"the command line ({account})", role=OperatorRole.ADMINISTRATOR)


class ShellCommand(ReportingCommand):
    """A command whose writes the audit log gives to the command line."""

    def execute(self, *args: Any, **options: Any) -> str | None:  # noqa: ANN401 - Django's signature
        """Run it as the account at the shell."""
        with acting_as(at_the_shell()):
            return super().execute(*args, **options)
