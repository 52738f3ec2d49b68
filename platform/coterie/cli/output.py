"""Output of commands: tables on a terminal, tab-separated lines elsewhere, JSON on request."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import click
import msgspec
from rich.console import Console
from rich.table import Table

from coterie_wire.structs import from_json

Fields: TypeAlias = Mapping[str, object]
"""A thing of the REST API, as its JSON has it."""

JSON = click.option("--json", "as_json", is_flag=True, help="print what was done or found as JSON, and nothing else")


def print_json(content: bytes) -> None:
    """`content`, indented; ``null`` where there is none."""
    click.echo(msgspec.json.format(content or b"null", indent=2))


def print_result(result: object, *sentences: str, as_json: bool) -> None:
    """Print `result` as JSON where `as_json` is set, else `sentences`, one a line."""
    if as_json:
        print_json(msgspec.json.encode(result))
        return
    for sentence in sentences:
        click.echo(sentence)


def print_rows(columns: Sequence[str], rows: Sequence[Fields]) -> None:
    """A row for each of `rows`; where standard output is no terminal, tab-separated with a line of names."""
    console = Console()
    if not console.is_terminal:
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(_written(row.get(column)).replace("\t", " ") for column in columns))
        return
    table = Table(*(column.replace("_", " ") for column in columns), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(_written(row.get(column)) for column in columns))
    console.print(table)


def print_fields(content: bytes) -> None:
    """Each field of a thing in a line; each thing of a list, or of a page of one, in its own block."""
    answer = from_json(content, object)
    if isinstance(answer, dict) and isinstance(answer.get("results"), list):
        answer = answer["results"]
    for number, thing in enumerate(answer if isinstance(answer, list) else [answer]):
        if number:
            click.echo()
        if isinstance(thing, dict):
            for name, value in thing.items():
                click.echo(f"{name}: {_written(value)}")
        else:
            click.echo(_written(thing))


def _written(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.replace("\n", " ")
        case list() if all(isinstance(item, str) for item in value):
            return ", ".join(value)
        case _:
            return msgspec.json.encode(value).decode()
