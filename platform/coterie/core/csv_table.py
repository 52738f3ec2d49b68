"""Every list of the REST API as CSV: all rows that match the query, streamed."""

import csv
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec
from django.http import StreamingHttpResponse
from rest_framework.renderers import BaseRenderer

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet runs a text that begins like this (CWE-1236)."""


class CsvRenderer(BaseRenderer):
    """Enables ``?format=csv`` and ``Accept: text/csv``; `csv_response` writes the rows."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: object, _media_type: str | None = None, _context: Mapping[str, object] | None = None
    ) -> bytes:
        """Called only for answers that are not tables."""
        return msgspec.json.encode(data, enc_hook=str)


class _Echo:
    def write(self, text: str) -> str:
        """Return what the csv module has made of a row."""
        return text


def csv_response(
    name: str, columns: Sequence[str], parts: AsyncIterator[Sequence[Mapping[str, object]]]
) -> StreamingHttpResponse:
    """A download of the rows of all `parts`, a column for each of `columns`; lists and objects are JSON in their cell.

    The next part is requested once the one before was sent, so that memory holds one, however slowly the client reads.
    """

    async def texts() -> AsyncIterator[str]:
        writer = csv.writer(_Echo())
        yield writer.writerow(columns)
        async for rows in parts:
            yield "".join(writer.writerow([_cell(row[column]) for column in columns]) for row in rows)

    response = StreamingHttpResponse(texts(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _cell(value: object) -> object:
    if isinstance(value, list | dict | tuple):
        value = msgspec.json.encode(value, enc_hook=str).decode()
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value
