"""Removes what only tells of the past: each app declares in its module `pruning` which of its rows may go, and when.

``OLD_ROWS`` there is a sequence of `OldRows`. Nothing else names them: whoever adds a table adds its rule beside it.
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
"""Whose parts are found in one call, at most: SQLite takes as many values in a statement."""


@dataclass(frozen=True)
class OldRows:
    """Rows of one table that may go a while after what they tell of has ended."""

    name: str
    """What they are, for people, in the plural: ``parts of evaluations``."""
    ended_before: Callable[[datetime], "QuerySet[Any]"]
    """Those of what had ended by then, on which nothing rests any more."""
    fold: Callable[["QuerySet[Any]"], None] | None = None
    """Keeps what stays of rows that are about to go, in the transaction in which they do."""
    at_once: int = 5_000
    """In a statement: fewer where others go with each."""


class Pruned(NamedTuple):
    """How many rows of a kind were removed, or would be."""

    name: str
    table: str
    rows: int


def declared() -> Iterator[OldRows]:
    """What the apps declare, in the order in which they are installed."""
    for app in apps.get_app_configs():
        if app.name.startswith("coterie.") and app.module is not None and module_has_submodule(app.module, MODULE):
            yield from import_module(f"{app.name}.{MODULE}").OLD_ROWS


def count_old(*, now: datetime) -> list[Pruned]:
    """How many rows of each kind may go; none where the setting keeps all."""
    found = ((kind, kind.ended_before(before)) for kind, before in _due(now))
    return [Pruned(kind.name, rows.model._meta.label, rows.count()) for kind, rows in found]


def prune(*, now: datetime, parts: int = PARTS) -> list[Pruned]:
    """Remove them; what is left of a kind after so many statements is for the next call.

    A kind that fails keeps none of the others. Raises ExceptionGroup after all were tried.
    """
    pruned: list[Pruned] = []
    failures: list[Exception] = []
    for kind, before in _due(now):
        try:
            rows = kind.ended_before(before)
            removed = delete_in_parts(rows, at_once=kind.at_once, parts=parts, fold=kind.fold)
            pruned.append(Pruned(kind.name, rows.model._meta.label, removed))
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("old rows could not be removed", failures)
    return pruned


def gone_after_days(ended_at: datetime | None, *, now: datetime) -> int | None:
    """Days for which rows of what ended at `ended_at` were kept, where these have passed; None: they stay still."""
    days = settings.KEEP_HISTORY_DAYS
    is_over = bool(days) and ended_at is not None and ended_at < now - timedelta(days=days)
    return days if is_over else None


def parts_of(wholes: "QuerySet[Any]", parts: type[Model], whole: str) -> "QuerySet[Any]":
    """The rows of `parts` whose `whole` is among `wholes`.

    Asked for by those that have some left, as most have none: a join would read the table of parts to find that out.
    """
    left = wholes.filter(Exists(parts._base_manager.filter(**{whole: OuterRef("pk")})))
    keys = list(left.order_by().values_list("pk", flat=True)[:WHOLES])
    return parts._base_manager.filter(**{f"{whole}__in": keys})


def _due(now: datetime) -> Iterator[tuple[OldRows, datetime]]:
    """Each kind, and the moment by which what it tells of must have ended; nothing where all is kept."""
    if settings.KEEP_HISTORY_DAYS:
        before = now - timedelta(days=settings.KEEP_HISTORY_DAYS)
        yield from ((kind, before) for kind in declared())
