"""Records every sign-in and sign-out, on whatever way it came about, in the audit log."""

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from coterie.accounts.models import Operator
from coterie.accounts.permissions import actor_of
from coterie.audit.recording import record
from coterie.core.acting import become, current_actor


@receiver(user_logged_in)
def record_sign_in(user: AbstractBaseUser, request: HttpRequest, **_: object) -> None:
    """From here on the person acts."""
    assert isinstance(user, Operator)
    actor = actor_of(user, address=request.META.get("REMOTE_ADDR", ""))
    if current_actor().kind != "system":  # nobody's request
        become(actor)
    record("accounts.sign_in", row=user, before={}, after={"signed_in": True}, actor=actor)


@receiver(user_logged_out)
def record_sign_out(user: AbstractBaseUser | None, request: HttpRequest, **_: object) -> None:
    """A session that had ended by itself has nobody."""
    if isinstance(user, Operator):
        actor = actor_of(user, address=request.META.get("REMOTE_ADDR", ""))
        record("accounts.sign_out", row=user, before={}, after={"signed_in": False}, actor=actor)
