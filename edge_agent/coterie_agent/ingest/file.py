"""Reads samples from a CSV, NPZ or JSON lines file."""

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from coterie_agent.ingest.row import JsonRow, RowCheck, refusal
from coterie_agent.store.samples import Row, Widths
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import decoder

if TYPE_CHECKING:
    from coterie_wire.archives import Numbers

LABEL = "label"
TARGET = "target"
MAX_LINE = 16 << 20
"""Longest line: in characters of CSV, in bytes of JSON."""
MAX_ARRAY_BYTES = 1 << 30


def read_rows(path: Path, check: RowCheck) -> Iterator[Row]:
    """The samples in `path`, by its ending: .csv, .npz, .jsonl or .ndjson.

    Raises AgentError ``ingest.*`` that names the first broken line.
    """
    readers = {".csv": _read_csv, ".npz": _read_npz, ".jsonl": _read_json_lines, ".ndjson": _read_json_lines}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(sorted(readers))
        raise refusal("ingest.unknown_format", f"{path.name}: the ending must be one of {known}")
    try:
        yield from reader(path, check)
    except OSError as error:
        raise refusal("ingest.unreadable", f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise refusal("ingest.malformed", f"{path.name} is not UTF-8 text: {error.reason}") from error


def _read_csv(path: Path, check: RowCheck) -> Iterator[Row]:
    """A header, then one sample a line: the column "label", or those that begin with "target", and the features."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(_lines(path, file), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise refusal("ingest.empty", f"{path.name} is empty")
            if len(header) == 1 and (found := set(";\t") & set(header[0])):
                detail = f"{path.name}: commas separate columns (and a point decimals), not {found.pop()!r}"
                raise refusal("ingest.malformed", detail)
            if header.count(LABEL) > 1:
                raise refusal("ingest.malformed", f"{path.name}: the first line names several columns {LABEL!r}")
            label = header.index(LABEL) if LABEL in header else None
            targets = [place for place, name in enumerate(header) if name.startswith(TARGET)]
            if label is None and not targets and check.labelled:
                names = f"one of them {LABEL!r}, or some that begin with {TARGET!r}"
                raise refusal("ingest.no_label", f"{path.name}: the first line must name the columns, {names}")
            features = [place for place in range(len(header)) if place != label and place not in targets]
            if check.widths is None:
                check.widths = Widths(len(features), len(targets) if label is None else 0)
            for fields in filter(None, reader):  # a blank line has no fields
                where = f"{path.name}, line {reader.line_num}"
                if len(fields) != len(header):
                    raise refusal("ingest.wrong_width", f"{where}: {len(fields)} columns, the header has {len(header)}")
                x = [fields[place] for place in features]
                yield check.row(where, x, [fields[place] for place in targets] if label is None else fields[label])
        except csv.Error as error:
            raise refusal("ingest.malformed", f"{path.name}, line {reader.line_num}: {error}") from error


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of `file`, with a bound on their length."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise refusal("ingest.malformed", f"{path.name}, line {number}: longer than {MAX_LINE} characters")
        yield line


def _read_json_lines(path: Path, check: RowCheck) -> Iterator[Row]:
    """One object a line: ``{"x": [0.1, ...], "y": 3}``, x or y as `JsonRow` has them; blank lines are skipped."""
    rows = decoder(JsonRow)
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            where = f"{path.name}, line {number}"
            if len(line) > MAX_LINE:
                raise refusal("ingest.malformed", f"{where}: longer than {MAX_LINE} bytes")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if not line.strip():
                continue
            try:
                row = rows.decode(line)
            except UNREADABLE as error:
                raise refusal("ingest.malformed", f"{where}: {error}") from error
            yield check.row(where, row.x, row.y)


def _read_npz(path: Path, check: RowCheck) -> Iterator[Row]:
    """Arrays y [samples, ...] and x [samples, ...], or one for each input by its name, as numpy.savez writes them."""
    from coterie_wire.archives import read_arrays  # only here: it loads NumPy

    try:
        arrays = read_arrays(path, max_bytes=MAX_ARRAY_BYTES)
    except WireError as error:
        too_large = error.code == "arrays.too_large"
        raise refusal(
            "ingest.too_large" if too_large else "ingest.malformed", f"{path.name}: {error.detail}"
        ) from error
    y = arrays.get("y")
    inputs = {name: array for name, array in arrays.items() if name != "y"}
    if not inputs or (y is None and check.labelled):
        raise refusal("ingest.malformed", f"{path.name}: needs the arrays x and y, has {sorted(arrays)}")
    every = [*inputs.values(), *([] if y is None else [y])]
    if any(array.shape[:1] != every[0].shape[:1] or not array.ndim for array in every):
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise refusal("ingest.malformed", f"{path.name}: {shapes} are not samples and their targets")
    for index in range(len(every[0])):
        named = {name: array[index].reshape(-1).tolist() for name, array in inputs.items()}
        features = named["x"] if named.keys() == {"x"} else named
        yield check.row(f"{path.name}, row {index}", features, None if y is None else _target(y[index]))


def _target(target: "Numbers") -> float | list[float]:
    return target.item() if target.ndim == 0 else target.reshape(-1).tolist()
