"""The picture of docs/architecture.md, drawn from docs/architecture.toml; light or dark as the reader's page is."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

import msgspec

from tests.contract.error_catalogue import ROOT

SOURCE = ROOT / "docs" / "architecture.toml"
BOX_WIDTH, LINE_HEIGHT, GAP, AISLE, HEAD = 232, 17, 16, 46, 40
"""Pixels; a box has one line for its name and one for each line of its text."""
STYLE = """
text { font: 12.5px system-ui, sans-serif; fill: #24292f } .name, .title { font-weight: 600 } .title { fill: #57606a }
rect { fill: #f6f8fa; stroke: #afb8c1 } path { fill: none; stroke: #0969da; stroke-width: 1.5 }
marker path { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .title { fill: #9198a1 } rect { fill: #161b22; stroke: #3d444d }
  path { stroke: #4493f8 } marker path { fill: #4493f8 }
}
"""


class Box(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the system."""

    name: str
    text: list[str]


class Column(msgspec.Struct, forbid_unknown_fields=True):
    """Parts that stand above one another."""

    title: str
    box: list[Box]


class Picture(msgspec.Struct, forbid_unknown_fields=True):
    """What docs/architecture.toml says."""

    column: list[Column]
    arrows: dict[str, list[str]]


class Place(NamedTuple):
    """Where a box is drawn, in pixels."""

    left: int
    top: int
    height: int

    @property
    def middle(self) -> float:
        """Its vertical middle."""
        return self.top + self.height / 2


def architecture_picture() -> str:
    """docs/images/architecture.svg."""
    picture = msgspec.convert(tomllib.loads(SOURCE.read_text(encoding="utf-8")), Picture)
    tallest = max(sum(_height(box) + GAP for box in column.box) for column in picture.column)
    width, height = len(picture.column) * (BOX_WIDTH + AISLE) - AISLE + 2, HEAD + tallest
    places = dict(_places(picture.column, tallest))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 0 {width} {height}" role="img" aria-label="The parts of '
        'Coterie and how they are connected">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
        *(
            f'<text class="title" x="{index * (BOX_WIDTH + AISLE)}" y="22">{escape(column.title)}</text>'
            for index, column in enumerate(picture.column)
        ),
        *(line for column in picture.column for box in column.box for line in _drawn(box, places[box.name])),
        *(_arrow(places[start], places[end]) for start, ends in picture.arrows.items() for end in ends),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _height(box: Box) -> int:
    return LINE_HEIGHT * (1 + len(box.text)) + 16


def _places(columns: Sequence[Column], tallest: int) -> Iterator[tuple[str, Place]]:
    """Each column stands in the vertical middle."""
    for index, column in enumerate(columns):
        top = HEAD + (tallest - sum(_height(box) + GAP for box in column.box)) // 2
        for box in column.box:
            yield box.name, Place(index * (BOX_WIDTH + AISLE), top, _height(box))
            top += _height(box) + GAP


def _drawn(box: Box, place: Place) -> Iterator[str]:
    yield f'<rect x="{place.left}" y="{place.top}" width="{BOX_WIDTH}" height="{place.height}" rx="6"/>'
    for number, line in enumerate((box.name, *box.text), start=1):
        kind = ' class="name"' if number == 1 else ""
        yield f'<text{kind} x="{place.left + 10}" y="{place.top + 4 + number * LINE_HEIGHT}">{escape(line)}</text>'


def _arrow(start: Place, end: Place) -> str:
    """From the nearer edge of one box to the nearer edge of the other."""
    onward = end.left > start.left
    from_x, to_x = (start.left + BOX_WIDTH, end.left) if onward else (start.left, end.left + BOX_WIDTH)
    bend = (from_x + to_x) / 2
    return (
        f'<path d="M{from_x} {start.middle:g}C{bend:g} {start.middle:g} {bend:g} {end.middle:g} {to_x} {end.middle:g}" '
        'marker-end="url(#tip)"/>'
    )
