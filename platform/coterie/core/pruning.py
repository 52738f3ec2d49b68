"""Removes old history: each app declares in its module `pruning` which of its rows may be deleted, and when.

``OLD_ROWS`` there is a sequence of `OldRows`. Nothing else names them: a new table gets its rule in its own app.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils.module_loading import module_has_submodule

from coterie.core.rows import PARTS, delete_in_parts

MODULE = "pruning"
WHOLES = 30_000
"""How many parents' parts one call looks for at most: SQLite takes as many values in a statement."""


@dataclass(frozen=True)
class OldRows:
    """Rows of one table that may be deleted a while after what they describe has ended."""

    name: str
    """Their name for people, in the plural: ``parts of evaluations``."""
    ended_before: Callable[[datetime], "QuerySet[Any]"]
    """Rows of what had ended by that time and that nothing else depends on."""
    fold: Callable[["QuerySet[Any]"], None] | None = None
    """Stores the totals of rows that are about to be deleted, in the transaction that deletes them."""
    at_once: int = 5_000
    """Rows per statement: fewer where deletions cascade."""


class Pruned(NamedTuple):
    """How many rows of a kind were removed, or would be."""

    name: str
    table: str
    rows: int


def declared() -> Iterator[OldRows]:
    """All apps' rules, in the order in which the apps are installed."""
    for app in apps.get_app_configs():
        if app.name.startswith("coterie.") and app.module is not None and module_has_submodule(app.module, MODULE):
            yield from import_module(f"{app.name}.{MODULE}").OLD_ROWS


def count_old(*, now: datetime) -> list[Pruned]:
    """How many rows of each kind may be deleted; empty where the setting keeps all."""
    found = ((kind, kind.ended_before(before)) for kind, before in _limits_by_kind(now))
    return [Pruned(kind.name, rows.model._meta.label, rows.count()) for kind, rows in found]


def prune(*, now: datetime, parts: int = PARTS) -> list[Pruned]:
    """Delete old rows; what is left of a kind after `parts` statements remains for the next call.

    A kind that fails does not stop the others. Raises ExceptionGroup after all were tried.
    """
    pruned: list[Pruned] = []
    failures: list[Exception] = []
    for kind, before in _limits_by_kind(now):
        try:
            rows = kind.ended_before(before)
            removed = delete_in_parts(rows, at_once=kind.at_once, parts=parts, fold=kind.fold)
            pruned.append(Pruned(kind.name, rows.model._meta.label, removed))
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("old rows could not be removed", failures)
    return pruned


def deleted_after_days(ended_at: datetime | None, *, now: datetime) -> int | None:
    """Days after which rows of what ended at `ended_at` were deleted, where these have passed; None: the rows still
    exist.
    """
    days = settings.KEEP_HISTORY_DAYS
    is_over = bool(days) and ended_at is not None and ended_at < now - timedelta(days=days)
    return days if is_over else None


def parts_of(wholes: "QuerySet[Any]", parts: type[Model], whole: str) -> "QuerySet[Any]":
    """The rows of `parts` whose `whole` is among `wholes`.

    Only wholes that still have parts are looked up, as most have none: a join would read the table of parts to find
    that out.
    """
    left = wholes.filter(Exists(parts._base_manager.filter(**{whole: OuterRef("pk")})))
    keys = list(left.order_by().values_list("pk", flat=True)[:WHOLES])
    return parts._base_manager.filter(**{f"{whole}__in": keys})


def _limits_by_kind(now: datetime) -> Iterator[tuple[OldRows, datetime]]:
    """Each kind, and the time before which what it describes must have ended; empty where all is kept."""
    if settings.KEEP_HISTORY_DAYS:
        before = now - timedelta(days=settings.KEEP_HISTORY_DAYS)
        yield from ((kind, before) for kind in declared())
