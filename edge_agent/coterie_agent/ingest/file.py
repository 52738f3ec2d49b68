"""Reads samples from a CSV, NPZ or JSON lines file."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import msgspec

from coterie_agent.ingest.row import JsonRow, RowCheck, refusal
from coterie_agent.store.samples import Row
from coterie_wire.errors import UNREADABLE, WireError

LABEL = "label"
MAX_LINE = 16 << 20
"""Characters of CSV, bytes of JSON."""
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
    """A header, then one sample a line: the column "label" and the features in the order of their columns."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(_lines(path, file), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise refusal("ingest.empty", f"{path.name} is empty")
            label = header.index(LABEL) if LABEL in header else None
            if label is None and check.labelled:
                raise refusal(
                    "ingest.no_label", f"{path.name}: the first line must name the columns, one of them {LABEL!r}"
                )
            if check.features is None:
                check.features = len(header) - (label is not None)
            for fields in filter(None, reader):  # a blank line has no fields
                where = f"{path.name}, line {reader.line_num}"
                if len(fields) != len(header):
                    raise refusal("ingest.wrong_width", f"{where}: {len(fields)} columns, the header has {len(header)}")
                value = fields.pop(label) if label is not None else None
                yield check.row(where, fields, value)
        except csv.Error as error:
            raise refusal("ingest.malformed", f"{path.name}, line {reader.line_num}: {error}") from error


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of `file`, none of which fills the memory."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise refusal("ingest.malformed", f"{path.name}, line {number}: longer than {MAX_LINE} characters")
        yield line


def _read_json_lines(path: Path, check: RowCheck) -> Iterator[Row]:
    """One object a line: ``{"x": [0.1, ...], "y": 3}``; blank lines are skipped."""
    decoder = msgspec.json.Decoder(JsonRow)
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            where = f"{path.name}, line {number}"
            if len(line) > MAX_LINE:
                raise refusal("ingest.malformed", f"{where}: longer than {MAX_LINE} bytes")
            if line.isspace():
                continue
            try:
                row = decoder.decode(line)
            except UNREADABLE as error:
                raise refusal("ingest.malformed", f"{where}: {error}") from error
            yield check.row(where, row.x, row.y)


def _read_npz(path: Path, check: RowCheck) -> Iterator[Row]:
    """Arrays x [samples, ...] and y [samples], as numpy.savez writes them."""
    from coterie_wire.archives import read_arrays  # only here: it loads NumPy

    try:
        arrays = read_arrays(path, max_bytes=MAX_ARRAY_BYTES)
    except WireError as error:
        too_large = error.code == "arrays.too_large"
        raise refusal(
            "ingest.too_large" if too_large else "ingest.malformed", f"{path.name}: {error.detail}"
        ) from error
    x, y = arrays.get("x"), arrays.get("y")
    if x is None or (y is None and check.labelled):
        raise refusal("ingest.malformed", f"{path.name}: needs the arrays x and y, has {sorted(arrays)}")
    if x.ndim < 1 or (y is not None and y.shape != x.shape[:1]):
        shapes = f"x {list(x.shape)}" + ("" if y is None else f" and y {list(y.shape)}")
        raise refusal("ingest.malformed", f"{path.name}: {shapes} are not samples and their labels")
    for index, row in enumerate(x):
        yield check.row(f"{path.name}, row {index}", row.reshape(-1), None if y is None else y[index].item())
