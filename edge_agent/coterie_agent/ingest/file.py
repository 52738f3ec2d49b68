"""Reads samples from a CSV, NPZ or JSON lines file."""

import csv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from coterie_agent.ingest.row import JsonRow, RowCheck, refusal
from coterie_agent.store.samples import Row

LABEL = "label"
MAX_LINE_BYTES = 16 << 20
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
        reader = csv.reader(file, strict=True)
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
            for fields in reader:
                where = f"{path.name}, line {reader.line_num}"
                if len(fields) != len(header):
                    raise refusal("ingest.wrong_width", f"{where}: {len(fields)} columns, the header has {len(header)}")
                value = fields.pop(label) if label is not None else None
                yield check.row(where, fields, value)
        except csv.Error as error:
            raise refusal("ingest.malformed", f"{path.name}, line {reader.line_num}: {error}") from error


def _read_json_lines(path: Path, check: RowCheck) -> Iterator[Row]:
    """One object a line: ``{"x": [0.1, ...], "y": 3}``; blank lines are skipped."""
    decoder = msgspec.json.Decoder(JsonRow)
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path.name}, line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise refusal("ingest.malformed", f"{where}: longer than {MAX_LINE_BYTES} bytes")
            if line.isspace():
                continue
            try:
                row = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise refusal("ingest.malformed", f"{where}: {error}") from error
            yield check.row(where, row.x, row.y)


def _read_npz(path: Path, check: RowCheck) -> Iterator[Row]:
    """Arrays x [samples, ...] and y [samples], as numpy.savez writes them."""
    import numpy as np  # the other formats do without

    try:
        with zipfile.ZipFile(path) as archive:
            size_bytes = sum(member.file_size for member in archive.infolist())
        if size_bytes > MAX_ARRAY_BYTES:
            raise refusal("ingest.too_large", f"{path.name} unpacks to {size_bytes} bytes; at most {MAX_ARRAY_BYTES}")
        with np.load(path, allow_pickle=False) as arrays:
            x = np.asarray(arrays["x"], dtype=np.float32)
            y = np.asarray(arrays["y"]) if "y" in arrays or check.labelled else None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        raise refusal(
            "ingest.malformed", f"{path.name}: not arrays x and y as numpy.savez writes them: {error}"
        ) from error
    if x.ndim < 1 or (y is not None and y.shape != x.shape[:1]):
        shapes = f"x {list(x.shape)}" + ("" if y is None else f" and y {list(y.shape)}")
        raise refusal("ingest.malformed", f"{path.name}: {shapes} are not samples and their labels")
    for index, row in enumerate(x.reshape(len(x), -1)):
        yield check.row(f"{path.name}, row {index}", row, None if y is None else y[index].item())
