"""Text files of numbers and CSV files, read with errors that say what is wrong."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import UnreadableData


def numbers(path: Path) -> NDArray[np.float64]:
    """The numbers of a text file, lines by columns; one column is a vector. Raises UnreadableData."""
    try:
        found = np.loadtxt(path, ndmin=1)
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: {error}") from error
    if not len(found) or not np.isfinite(found).all():
        raise UnreadableData(f"{path} is empty, or a number in it is not finite")
    return found


def rows(path: Path, needed: Sequence[str], *, delimiter: str = ",") -> Iterator[tuple[int, Mapping[str, str]]]:
    """The lines of a CSV file with a header, each with its number; `needed` columns are in all of them.

    Raises UnreadableData.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, delimiter=delimiter, strict=True)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise UnreadableData(f"{path}: the first line must name the columns, and lacks {', '.join(missing)}")
            for row in reader:
                if None in row or None in row.values():
                    raise UnreadableData(f"{path}, line {reader.line_num}: the header has another number of columns")
                yield reader.line_num, row
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror or error}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise UnreadableData(f"{path}: {error}") from error


def number(text: str, *, at: str) -> float:
    """`text` as a number; `at` says where it stands. Raises UnreadableData."""
    try:
        found = float(text)
    except ValueError as error:
        raise UnreadableData(f"{at}: {text[:40]!r} is not a number") from error
    if not np.isfinite(found):
        raise UnreadableData(f"{at}: {text[:40]!r} is not finite")
    return found
