"""Many rows at once, without an expression for each row, which takes most of ``bulk_create`` and ``bulk_update``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from django.db import connection, transaction
from django.db.models import Count, Field, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.sql.where import WhereNode

M = TypeVar("M", bound=Model)
PARTS = 200
"""Parts deleted in one call: for a table that is pruned every ten minutes, with 5,000 rows a part, 144 million rows a
day. A table of which more rows than that become old each day grows without end.
"""


class Row(NamedTuple):
    """The new values of one row."""

    key: object
    values: Sequence[object]


def count_of(rows: QuerySet[Any], field: str) -> Coalesce:
    """How many of `rows` each row of the outer query has, by their foreign key `field`.

    Counted for the rows of a page only, where grouping a join would count for all of them first.
    """
    own = rows.filter(**{field: OuterRef("pk")}).order_by().values(field)
    return Coalesce(Subquery(own.annotate(count=Count("pk")).values("count")), 0)


def with_keys(rows: QuerySet[M], keys: Sequence[object]) -> list[M]:
    """Those of `rows` with these keys, in the order of the keys; rows deleted meanwhile are left out.

    The conditions of `rows`, under which the keys were found, are not repeated: a database without statistics of the
    distribution may use one that nearly all rows fulfil, and read all those.
    """
    asked = rows.order_by()
    asked.query.where = WhereNode()
    found = {row.pk: row for row in asked.filter(pk__in=keys)}
    return [found[key] for key in keys if key in found]


def update_each(
    model: type[Model], columns: Sequence[str], rows: Iterable[Row], *, where: Mapping[str, object]
) -> None:
    """Set `columns` of each row to its values, where the row still fulfils `where`.

    In the order of their keys, so that two transactions that change the same rows cannot deadlock.
    """
    by_name = {field.name: field for field in model._meta.concrete_fields}
    key = model._meta.pk
    fields, conditions = [by_name[name] for name in columns], [by_name[name] for name in where]
    quote = connection.ops.quote_name
    changes = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    kept = " AND ".join(f"{quote(str(field.column))} = %s" for field in (key, *conditions))
    statement = f"UPDATE {quote(model._meta.db_table)} SET {changes} WHERE {kept}"  # noqa: S608 - names of ours
    expected = [
        field.get_db_prep_save(value, connection) for field, value in zip(conditions, where.values(), strict=True)
    ]
    prepared = [
        (
            *(field.get_db_prep_save(value, connection) for field, value in zip(fields, row.values, strict=True)),
            key.get_db_prep_save(row.key, connection),
            *expected,
        )
        for row in sorted(rows, key=lambda row: str(row.key))
    ]
    if prepared:
        with connection.cursor() as cursor:
            cursor.executemany(statement, prepared)


def insert_all(rows: Sequence[Model], *, or_nothing: bool = False) -> None:
    """Insert `rows`, all of one model; with `or_nothing` those that a constraint forbids are left out.

    Where the database makes the keys, they are not set on `rows`.
    """
    if not rows:
        return
    fields: list[Field[Any, Any]] = [
        field for field in type(rows[0])._meta.concrete_fields if field is not rows[0]._meta.auto_field
    ]
    quote = connection.ops.quote_name
    names, places = ", ".join(quote(str(field.column)) for field in fields), ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(rows[0]._meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608 - names of ours
    if or_nothing:
        statement += " ON CONFLICT DO NOTHING"
    with connection.cursor() as cursor:
        cursor.executemany(
            statement,
            [[field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields] for row in rows],
        )


def upsert_all(rows: Sequence[Model], *, former: Mapping[str, str] = MappingProxyType({})) -> None:
    """Insert `rows`, all of one model, or overwrite those with the same keys, in one statement.

    An existing row keeps in each column of `former` its earlier value of the column that it maps to. In the order of
    their keys, so that two transactions that write the same rows cannot deadlock.
    """
    if not rows:
        return
    fields: list[Field[Any, Any]] = list(type(rows[0])._meta.concrete_fields)
    quote = connection.ops.quote_name
    columns = {quote(str(field.column)): field for field in fields}
    key = quote(str(type(rows[0])._meta.pk.column))
    places = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * len(rows))
    table = quote(rows[0]._meta.db_table)
    kept = {quote(column): f"{table}.{quote(held)}" for column, held in former.items()}
    changes = ", ".join(f"{name} = {kept.get(name, f'EXCLUDED.{name}')}" for name in columns if name != key)
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places} "  # noqa: S608 - names of ours
        f"ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )
    values = [
        field.get_db_prep_save(getattr(row, field.attname), connection)
        for row in sorted(rows, key=lambda row: str(row.pk))
        for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def delete_in_parts(
    rows: QuerySet[Any], *, at_once: int, parts: int = PARTS, fold: Callable[[QuerySet[Any]], None] | None = None
) -> int:
    """Delete `rows`, `at_once` in a statement, so that no lock is held for long; returns how many were deleted.

    What is left after `parts` statements remains for the next call. `fold` is given the rows about to be deleted, in
    the transaction that deletes them; no row is given to it twice, whoever else deletes rows meanwhile.
    """
    deleted = 0
    for _ in range(parts):
        keys = list(rows.values_list("pk", flat=True)[:at_once])
        going = rows.model._base_manager.filter(pk__in=keys)
        with transaction.atomic():
            if fold is not None:
                held = list(going.order_by("pk").select_for_update().values_list("pk", flat=True))
                fold(going.filter(pk__in=held))
            going.delete()
        deleted += len(keys)
        if len(keys) < at_once:
            break
    return deleted
