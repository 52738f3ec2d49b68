"""Changes to many rows, each its own: without expressions for each, which take ``bulk_update`` longest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Model


class Row(NamedTuple):
    """What becomes of one row."""

    key: object
    values: Sequence[object]


def update_each(
    model: type[Model], columns: Sequence[str], rows: Iterable[Row], *, where: Mapping[str, object]
) -> None:
    """Set `columns` of each row to its values, where the row is still as `where` says.

    In the order of their keys, so that two who change the same rows take turns instead of waiting for each other.
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
