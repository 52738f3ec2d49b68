"""A login for the account at the shell of the platform's own machine, with a token made for it."""

import socket
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from coterie.accounts.command_line import at_the_shell
from coterie.accounts.models import ApiToken, Operator
from coterie.accounts.selectors import operator_named
from coterie.accounts.services import issue_token, revoke_token
from coterie.core.acting import acting_as
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.login import Login
from coterie.core.own_address import is_answered, noted_address


class AddressUnknown(CoterieError):
    """The platform has not listened anywhere yet."""

    code = "accounts.address_unknown"
    kind = ErrorKind.UNAVAILABLE
    sentence = "It is not known where the platform answers: start it with `coterie up`, or set COTERIE_PUBLIC_URL."


class PlatformStopped(CoterieError):
    """Nothing listens where the platform answered last."""

    code = "accounts.platform_stopped"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{url} does not answer: start the platform first, for example with `coterie up`."


class OperatorUnsaid(CoterieError):
    """There is not one administrator alone, whom a login could be meant for."""

    code = "accounts.operator_unsaid"
    kind = ErrorKind.CONFLICT
    sentence = "Say with --operator who you are: {names}."


def own_login(*, operator: str | None) -> Login:
    """A token of that operator, by default of the only administrator; it replaces this account's one before.

    Raises AddressUnknown, PlatformStopped, OperatorUnknown or OperatorUnsaid.
    """
    url = settings.PUBLIC_URL or noted_address(Path(settings.STATE))
    if not url:
        raise AddressUnknown
    if not is_answered(url):
        raise PlatformStopped(url=url)
    who = _only_administrator() if operator is None else operator_named(operator)
    shell, now = at_the_shell(), timezone.now()
    name = f"{shell.name} on {socket.gethostname()}"[: ApiToken._meta.get_field("name").max_length]
    with acting_as(shell), transaction.atomic():
        for before in ApiToken.objects.filter(operator=who, name=name, revoked_at=None):
            revoke_token(token=before, now=now)
        issued = issue_token(operator=who, name=name, now=now)
    return Login(url.rstrip("/"), issued.secret)


def _only_administrator() -> Operator:
    """Raises OperatorUnsaid where there are several, or none."""
    active = Operator.objects.filter(is_active=True)
    found = list(active.filter(role="administrator")[:2])
    if len(found) != 1:
        raise OperatorUnsaid(names=", ".join(active.order_by("username").values_list("username", flat=True)))
    return found[0]
