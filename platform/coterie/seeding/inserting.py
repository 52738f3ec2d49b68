"""Rows by the hundred thousand: without an object for each, which takes ``bulk_create`` longer than the database."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Field, JSONField, Model

AT_ONCE = 2_000


def insert(model: type[Model], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows, each the values of `columns`, in which JSON stands as text; the database numbers them."""
    by_name = {field.name: field for field in model._meta.concrete_fields}
    fields = [by_name[name] for name in columns]
    prepared = ([_prepared(field, value) for field, value in zip(fields, row, strict=True)] for row in rows)
    quote = connection.ops.quote_name
    names, places = ", ".join(quote(str(field.column)) for field in fields), ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608 - names of ours
    with connection.cursor() as cursor:
        while some := list(islice(prepared, AT_ONCE)):
            cursor.executemany(statement, some)


def _prepared(field: "Field[Any, Any]", value: object) -> Any:  # noqa: ANN401 - whatever the database's driver takes
    return value if isinstance(field, JSONField) else field.get_db_prep_save(value, connection)
