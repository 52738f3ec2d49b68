"""Records every sign-in, failed sign-in and sign-out, by whatever means, in the audit log."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from coterie.accounts.browsers import IN_SESSION, begin_browser_session
from coterie.accounts.models import BrowserSession, Operator
from coterie.accounts.roles import actor_of
from coterie.audit.recording import record
from coterie.core.acting import NOBODY, become, current_actor

logger = logging.getLogger(__name__)


@receiver(user_logged_in)
def record_sign_in(user: AbstractBaseUser, request: HttpRequest, **_: object) -> None:
    """From here on the person acts."""
    assert isinstance(user, Operator)
    actor = actor_of(user, address=request.META.get("REMOTE_ADDR", ""))
    if current_actor().kind != "system":  # nobody's request
        become(actor)
    record("accounts.sign_in", row=user, before={}, after={"signed_in": True}, actor=actor)
    begin_browser_session(operator=user, request=request, now=timezone.now())


@receiver(user_login_failed)
def record_failed_sign_in(credentials: Mapping[str, object], request: HttpRequest | None = None, **_: object) -> None:
    """A name that no operator has is written down nowhere: people type their passwords there, too."""
    address = "" if request is None else request.META.get("REMOTE_ADDR", "")
    operator = Operator.objects.filter(username=credentials.get("username")).first()
    if operator is None:
        logger.warning("sign-in failed from %s: no operator has that name", address or "this machine")
        return
    record(
        "accounts.fail_sign_in",
        row=operator,
        before={},
        after={"signed_in": False},
        actor=replace(NOBODY, address=address),
    )


@receiver(user_logged_out)
def record_sign_out(user: AbstractBaseUser | None, request: HttpRequest, **_: object) -> None:
    """A session that had ended by itself has nobody."""
    BrowserSession.objects.filter(pk=request.session.get(IN_SESSION, 0)).delete()
    if isinstance(user, Operator):
        actor = actor_of(user, address=request.META.get("REMOTE_ADDR", ""))
        record("accounts.sign_out", row=user, before={}, after={"signed_in": False}, actor=actor)
