"""``coterie token``: API tokens for programs, made on the platform's own machine."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from coterie.accounts.command_line import ShellCommand
from coterie.accounts.models import Project
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import issue_token
from coterie.core.acting import Scope, acting_as, current_actor
from coterie.core.errors import CoterieError


class Command(ShellCommand):
    """Creates API tokens; the API lists and revokes them."""

    help = "Make an API token with which a program speaks to the REST API, and print its secret this once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose token, and what it is called."""
        create = parser.add_subparsers(dest="what", required=True).add_parser("create", help="make a token")
        create.add_argument("name", help="what the token is for")
        create.add_argument("--operator", required=True, metavar="NAME", help="whose token it is")
        create.add_argument(
            "--scopes",
            nargs="+",
            action="extend",
            metavar="SCOPE",
            help=f"what it may be used for, of {', '.join(Scope)}; several by spaces, commas or further --scopes "
            "(default: all)",
        )
        create.add_argument(
            "--project", type=int, metavar="ID", help="what it acts in, where there are several (default: all of them)"
        )
        create.add_argument("--days", type=float, help="how long it is valid (default: until it is revoked)")
        super().add_arguments(create)

    def handle(
        self,
        *,
        name: str,
        operator: str,
        scopes: Sequence[str] | None,
        project: int | None,
        days: float | None,
        as_json: bool,
        **_: object,
    ) -> None:
        """Print the secret. Raises CommandError: no such operator, project or scope, or the name is taken."""
        narrowed = tuple(Scope) if scopes is None else _scopes(scopes)
        if project is not None and not Project.objects.filter(pk=project, archived_at=None).exists():
            raise CommandError(f"there is no project {project}; `coterie projects list` names those that there are")
        now = timezone.now()
        expires_at = None if days is None else now + timedelta(days=days)
        try:
            with acting_as(replace(current_actor(), project=project)):
                issued = issue_token(
                    operator=operator_named(operator),
                    name=name,
                    scopes=narrowed,
                    expires_at=expires_at,
                    now=now,
                )
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        self.report({"name": name, "secret": issued.secret}, issued.secret, as_json=as_json)


def _scopes(given: Sequence[str]) -> tuple[Scope, ...]:
    """Those of `given`, each once; several may be in one word, with commas. Raises CommandError."""
    names = dict.fromkeys(name.strip() for word in given for name in word.split(",") if name.strip())
    if unknown := [name for name in names if name not in set(Scope)]:
        raise CommandError(f"there is no scope {', '.join(unknown)}; there are {', '.join(Scope)}")
    if not names:
        raise CommandError(f"--scopes names none; there are {', '.join(Scope)}")
    return tuple(map(Scope, names))
