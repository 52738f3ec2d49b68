"""A party's table: who its people are, their columns, and their labels where it has these."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_agent.errors import AgentError, Exit
from coterie_learning.vertical.letters import MAX_ROWS
from coterie_wire.structs import from_msgpack
from coterie_wire.tensors import Float32

MAX_COLUMNS = 10_000
_ENCODING = "utf-8-sig"


class _Kept(msgspec.Struct, frozen=True):
    identifiers: tuple[str, ...]
    names: tuple[str, ...]
    columns: bytes
    labels: tuple[str, ...]


@dataclass(frozen=True)
class PeopleTable:
    """One row a person."""

    identifiers: tuple[str, ...]
    names: tuple[str, ...]
    """Of the columns."""
    columns: Float32
    """[rows, columns], each column with mean 0 and deviation 1, by this party's own people."""
    labels: tuple[str, ...]
    """As the file has them, blank where one is not known; none where this party has no labels."""

    def classes(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The labels as numbers of `names`, -1 where one is not known. Raises AgentError ``alliance.bad_table``."""
        known = {name: number for number, name in enumerate(names)}
        others = sorted({label for label in self.labels if label and label not in known})
        if others:
            raise _bad(f"label {others[0]!r} is none of the model's: {', '.join(names)}")
        return np.array([known.get(label, -1) for label in self.labels], np.int64)

    def encoded(self) -> bytes:
        """As the store keeps it."""
        columns = np.ascontiguousarray(self.columns, "<f4").tobytes()
        return msgspec.msgpack.encode(_Kept(self.identifiers, self.names, columns, self.labels))

    @classmethod
    def decoded(cls, content: bytes) -> "PeopleTable":
        """The reverse of `encoded`."""
        kept = from_msgpack(content, _Kept)
        columns = np.frombuffer(kept.columns, "<f4").reshape(len(kept.identifiers), len(kept.names))
        return cls(kept.identifiers, kept.names, columns.astype(np.float32), kept.labels)


def read_table(path: Path, *, identifier: str, label: str = "") -> PeopleTable:
    """The table in a CSV file with a header; `identifier` and `label` are names of columns, all others are numbers.

    An empty number is its column's mean; an empty label is one to predict. Raises AgentError ``alliance.bad_table``.
    """
    try:
        with path.open(encoding=_ENCODING, newline="") as file:
            reader = csv.reader(file)
            found = [(reader.line_num, row) for row in reader if row]  # a blank line has no values
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _bad(f"{path} cannot be read: {error}") from error
    if len(found) < 2:
        raise _bad(f"{path} has no header with rows below it")
    lines, (header, *people) = [line for line, _ in found[1:]], [row for _, row in found]
    for name in (identifier, *([label] if label else [])):
        if header.count(name) != 1:
            raise _bad(f"{path} has {header.count(name)} columns {name!r}; its header is {', '.join(header)}")
    names = tuple(name for name in header if name not in (identifier, label))
    if not 1 <= len(names) <= MAX_COLUMNS or len(people) > MAX_ROWS:
        raise _bad(f"{len(people)} people with {len(names)} columns; at most {MAX_ROWS} with {MAX_COLUMNS} are taken")
    for line, person in zip(lines, people, strict=True):
        if len(person) != len(header):
            raise _bad(f"line {line} has {len(person)} values, and the header has {len(header)}")
    at = header.index(identifier)
    identifiers = tuple(person[at].strip() for person in people)
    _check_identifiers(identifiers, lines)
    places = [header.index(name) for name in names]
    columns = np.array([_numbers(person, places, line) for line, person in zip(lines, people, strict=True)])
    labels = tuple(person[header.index(label)].strip() for person in people) if label else ()
    return PeopleTable(identifiers, names, _standardised(columns), labels)


def _check_identifiers(identifiers: Sequence[str], lines: Sequence[int]) -> None:
    seen: dict[str, int] = {}
    for line, identifier in zip(lines, identifiers, strict=True):
        if not identifier:
            raise _bad(f"line {line} has no identifier")
        first = seen.setdefault(identifier, line)
        if first != line:
            raise _bad(f"lines {first} and {line} have the same identifier; a person has one row")


def _numbers(person: Sequence[str], places: Sequence[int], line: int) -> list[float]:
    try:
        return [float(person[place]) if person[place].strip() else np.nan for place in places]
    except ValueError as error:
        raise _bad(f"line {line}: {error}; columns are numbers, so write categories as columns of 0 and 1") from error


def _standardised(columns: NDArray[np.float64]) -> Float32:
    if np.isinf(columns).any():
        raise _bad("a number is infinite")
    missing = np.isnan(columns)
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0, columns).sum(axis=0) / counts
    off = np.where(missing, 0, columns - means)
    deviations = np.sqrt((off * off).sum(axis=0) / counts)
    return (off / np.where(deviations > 0, deviations, 1)).astype(np.float32)


def _bad(detail: str) -> AgentError:
    return AgentError("alliance.bad_table", detail, exit_code=Exit.BAD_DATA)
