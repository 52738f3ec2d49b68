"""Draws what a soak sampled: ``python -m tests.benchmarks.soak.drawing`` writes docs/images/soak.svg from the samples.

Light or dark as the reader's page is. Each panel begins at nothing, so that a line which looks flat is flat.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import msgspec
import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.soak import SAMPLES, WARM_UP
from tests.benchmarks.soak.sampling import HISTORY, Sample

PICTURE = Path(__file__).resolve().parents[3] / "docs" / "images" / "soak.svg"
WIDTH, HEIGHT, COLUMNS = 400, 170, 2
"""Pixels of a panel's axes."""
LEFT, RIGHT, ABOVE, BELOW = 46, 110, 34, 30
POINTS = 200
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a } .title { font-weight: 600; fill: #24292f }
.axis { stroke: #afb8c1 } .warm { fill: #f6f8fa } path { fill: none; stroke-width: 1.5 }
path.c0 { stroke: #0969da } path.c1 { stroke: #1a7f37 } path.c2 { stroke: #9a6700 } path.c3 { stroke: #8250df }
text.c0 { fill: #0969da } text.c1 { fill: #1a7f37 } text.c2 { fill: #9a6700 } text.c3 { fill: #8250df }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .title { fill: #e6edf3 } .axis { stroke: #3d444d } .warm { fill: #161b22 }
  path.c0 { stroke: #4493f8 } path.c1 { stroke: #3fb950 } path.c2 { stroke: #d29922 } path.c3 { stroke: #ab7df8 }
  text.c0 { fill: #4493f8 } text.c1 { fill: #3fb950 } text.c2 { fill: #d29922 } text.c3 { fill: #ab7df8 }
}
"""
Floats = NDArray[np.float64]
Value = Callable[[Mapping[str, float]], float]


class Panel(NamedTuple):
    """Lines over one another."""

    title: str
    lines: Mapping[str, Value]


def _sum(*names: str) -> Value:
    """A store that has never held anything has no folder, and is in no sample."""
    return lambda values: sum(values.get(name, 0.0) for name in names)


def _rows(*, history: bool) -> Value:
    def count(values: Mapping[str, float]) -> float:
        rows = {name.partition(": ")[2]: value for name, value in values.items() if name.startswith("rows: ")}
        return sum(value for name, value in rows.items() if (name in HISTORY) == history)

    return count


PROCESSES = ("web 1", "web 2", "worker", "beat")
PANELS = (
    Panel("Memory, MiB", {name: _sum(f"memory, MiB: {name}") for name in PROCESSES}),
    Panel("File descriptors", {name: _sum(f"file descriptors: {name}") for name in PROCESSES}),
    Panel("Threads", {name: _sum(f"threads: {name}") for name in PROCESSES}),
    Panel(
        "Connections of PostgreSQL, keys of Redis",
        {"connections": _sum("connections: PostgreSQL"), "keys": _sum("keys: Redis")},
    ),
    Panel("Rows", {"kept for a time": _rows(history=False), "history": _rows(history=True)}),
    Panel(
        "Files",
        {
            "models": _sum("files: blobs"),
            "updates": _sum("files: updates"),
            "arriving": _sum("files: uploads", "files: partials"),
            "temporary": _sum("files: temporary"),
        },
    ),
)


def picture(samples: Sequence[Sample]) -> str:
    """The SVG."""
    wide, high = LEFT + WIDTH + RIGHT, ABOVE + HEIGHT + BELOW
    rows = -(-len(PANELS) // COLUMNS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * wide} {rows * high}" role="img" '
        'aria-label="What a platform under load holds, over time">',
        f"<style>{STYLE}</style>",
    ]
    for number, panel in enumerate(PANELS):
        row, column = divmod(number, COLUMNS)
        lines.append(f'<g transform="translate({column * wide + LEFT} {row * high + ABOVE})">')
        lines += _drawn(panel, samples)
        lines.append("</g>")
    return "\n".join([*lines, "</svg>", ""])


def _drawn(panel: Panel, samples: Sequence[Sample]) -> Iterator[str]:
    minutes = np.array([sample.at_s / 60 for sample in samples])
    found = {name: np.array([value(sample.values) for sample in samples]) for name, value in panel.lines.items()}
    top = _round_up(max(float(values.max()) for values in found.values()))
    end = float(minutes[-1])
    yield f'<rect class="warm" width="{WIDTH * WARM_UP:g}" height="{HEIGHT}"/>'
    yield f'<text class="title" x="0" y="-12">{escape(panel.title)}</text>'
    yield f'<path class="axis" d="M0 0V{HEIGHT}H{WIDTH}"/>'
    for share in (0.0, 0.5, 1.0):
        yield f'<text x="-6" y="{HEIGHT * (1 - share) + 4:g}" text-anchor="end">{top * share:,.6g}</text>'
        yield f'<text x="{WIDTH * share:g}" y="{HEIGHT + 18}" text-anchor="middle">{end * share:.0f} min</text>'
    labels = _apart({name: HEIGHT * (1 - float(values[-1]) / top) for name, values in found.items()})
    for number, (name, values) in enumerate(found.items()):
        points = zip(_fewer(minutes / end * WIDTH), _fewer(HEIGHT * (1 - values / top)), strict=True)
        yield f'<path class="c{number}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'
        yield f'<text class="c{number}" x="{WIDTH + 6}" y="{labels[name] + 4:.0f}">{escape(name)}</text>'


def _fewer(values: Floats) -> Floats:
    """The means of `POINTS` stretches."""
    return np.array([part.mean() for part in np.array_split(values, min(POINTS, len(values)))])


def _round_up(value: float) -> float:
    """The next number of one digit, or of one and a half."""
    size = 10 ** np.floor(np.log10(max(value, 1.0)))
    return float(next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= value))


def _apart(places: Mapping[str, float], least: float = 14) -> Mapping[str, float]:
    """Places of labels, the lowest where it is, and each other so far above the one below that both can be read."""
    found: dict[str, float] = {}
    below = float("inf")
    for name, place in sorted(places.items(), key=lambda item: -item[1]):
        below = found[name] = min(place, below - least)
    return found


def main() -> None:
    """Draw it."""
    samples = [msgspec.json.decode(line, type=Sample) for line in SAMPLES.read_bytes().splitlines()]
    PICTURE.write_text(picture(samples), encoding="utf-8")
    sys.stdout.write(f"{PICTURE}\n")


if __name__ == "__main__":
    main()
