"""``coterie logs``: requests for devices' logs, and the lines that came, searched and printed whole."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import click
import msgspec

from coterie.cli.connection import Connection
from coterie.cli.failures import failures_shown
from coterie.cli.output import JSON
from coterie.cli.resources import connected, logs
from coterie_wire.device_log import MAX_LINES

LINES_AT_ONCE = 500


class _Line(msgspec.Struct, frozen=True):
    """As the platform answers."""

    at: str
    level: str
    source: str
    text: str


class _Lines(msgspec.Struct, frozen=True):
    """A page of them."""

    next: str | None
    results: Sequence[_Line]


@logs.command("lines", short_help="What a device has sent.")
@click.argument("log", metavar="ID", type=click.UUID)
@click.option("--search", default="", metavar="WORDS", help="only lines with all of these words")
@click.option("--level", type=click.Choice(["info", "warning", "error"]), help="only lines of this level")
@JSON
@failures_shown
def lines(log: UUID, search: str, level: str | None, as_json: bool) -> None:
    """Print the lines that a device has sent for a request, oldest first; the platform removes them after a while."""
    query = {"search": search, **({} if level is None else {"level": level})}
    found = _pages(connected(), log, query)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(list(found)), indent=2))
    else:
        for line in found:
            click.echo(f"{line.at} {line.level:<7} {line.source}: {line.text}")


def _pages(connection: Connection, log: UUID, query: dict[str, str]) -> Iterator[_Line]:
    for page in range(1, 2 + MAX_LINES // LINES_AT_ONCE):
        asked = {**query, "page": str(page), "page_size": str(LINES_AT_ONCE)}
        found = connection.get(f"device-logs/{log}/lines/", _Lines, asked)
        yield from found.results
        if found.next is None:
            return


__all__ = ["logs"]
