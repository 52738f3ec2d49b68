"""Changes that people make to single columns of a row, several of them at once."""

from django.db import models


def save_given(row: models.Model, **given: object) -> None:
    """Write those columns of `row` that are not None, and no others: what somebody else has written meanwhile stays.

    `row` is then as the database has it.
    """
    columns = {name: value for name, value in given.items() if value is not None}
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(update_fields=list(columns))
    row.refresh_from_db()
