"""The only writer of the audit log: a service that operators call is `audited`, which also checks permissions."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import models, transaction
from django.utils import timezone

from coterie.audit.actions import check_action
from coterie.audit.models import Entry
from coterie.core.acting import Actor, current_actor
from coterie.core.events import notify_consoles
from coterie.core.separation import project_of

P = ParamSpec("P")
R = TypeVar("R")
Columns = Mapping[str, object]
Subject = str | Callable[[Mapping[str, object]], models.Model | None]
"""Which row a service changes: the argument that is it, or a function of the arguments that finds it."""

SECRET = ("password",)
MAX_NAME = 200


def audited(action: str, *, subject: Subject | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a keyword-only service run only for actors that may do `action`, and record its changes.

    Permission, change and entry are one transaction. Without `subject` the service creates the row and returns it,
    alone or as the first of a tuple. A call that changes nothing leaves no entry. An argument `why` is recorded beside
    the change. The service raises NobodyActs, RoleNeeded, ScopeNeeded or TokenExpires in addition to its own errors.
    """

    def decorate(service: Callable[P, R]) -> Callable[P, R]:
        @wraps(service)
        def recorded(*args: P.args, **arguments: P.kwargs) -> R:
            actor = current_actor()
            check_action(action, actor)
            with transaction.atomic():
                row = _find(subject, arguments)
                before = _columns(row)
                result = service(*args, **arguments)
                changed = _find(subject, arguments) if subject is not None else _made(result)
                why = str(arguments.get("why", ""))
                record(action, actor=actor, row=changed or row, before=before, after=_columns(changed), why=why)
            return result

        return recorded

    return decorate


def check_permitted(action: str) -> None:
    """For a service that changes no columns people may read, and calls `record` itself.

    Raises NobodyActs, RoleNeeded, ScopeNeeded or TokenExpires.
    """
    check_action(action, current_actor())


def record(
    action: str,
    *,
    row: models.Model | None,
    before: Columns,
    after: Columns,
    actor: Actor | None = None,
    why: str = "",
) -> None:
    """Add an entry about `row`, unless nothing has changed; `why` is the person's reason, where one was given."""
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if row is None or not changed:
        return
    actor = actor or current_actor()
    Entry.objects.create(
        at=timezone.now(),
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name,
        token=actor.token,
        address=actor.address,
        project_id=project_of(row),
        action=action,
        subject_kind=row._meta.label_lower,
        subject_id=str(row.pk),
        subject_name=str(row)[:MAX_NAME],
        before={name: before[name] for name in changed if name in before},
        after={name: after[name] for name in changed if name in after} | ({"why": why} if why else {}),
    )
    notify_consoles(row._meta.app_label)
    notify_consoles("audit")


def _find(subject: Subject | None, arguments: Mapping[str, object]) -> models.Model | None:
    """The row as it is in the database now."""
    if subject is None:
        return None
    row = arguments[subject] if isinstance(subject, str) else subject(arguments)
    if row is None:
        return None
    assert isinstance(row, models.Model)
    return type(row)._base_manager.filter(pk=row.pk).first()


def _made(result: object) -> models.Model:
    row = result[0] if isinstance(result, tuple) else result
    assert isinstance(row, models.Model), "a service without a subject returns the row that it has made"
    return row


def _columns(row: models.Model | None) -> Columns:
    """The columns of a row that people may read: columns with secrets are not editable."""
    if row is None:
        return {}
    fields = [f for f in row._meta.concrete_fields if (f.editable or f.primary_key) and f.name not in SECRET]
    return {field.attname: getattr(row, field.attname) for field in fields}
