"""A table of plain values: printed, written as CSV, or given to pandas, which nothing here needs."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

Cell = str | int | float | bool | None
Row = dict[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows by their columns' names, None where there is nothing."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    without_rows: str = ""
    """What one without rows is printed as."""

    @classmethod
    def of(cls, rows: Sequence[Row], *, without_rows: str = "") -> "Table":
        """With every column that any of `rows` has, in the order in which they first occur."""
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return cls(columns, tuple({name: row.get(name) for name in columns} for row in rows), without_rows)

    def column(self, name: str) -> list[Cell]:
        """One column, from the first row to the last. Raises KeyError, which names the columns there are."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return [row[name] for row in self.rows]

    def to_csv(self, path: str | Path) -> None:
        """Write it, with a line of names first; None is empty."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)

    def frame(self) -> "DataFrame":
        """It as a data frame of pandas. Raises ModuleNotFoundError where that is not installed."""
        from pandas import DataFrame

        return DataFrame(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return self.without_rows
        lines = [self.columns, *([_shown(row[name]) for name in self.columns] for row in self.rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
