"""A CSV file with the columns of AI4I 2020, and one more, ``machine``, that says which machine each row is of.

The published file has no such column: it is of one machine. Dealing its rows out at random makes all devices alike, and
a federation look better than it is.
"""

from pathlib import Path

import numpy as np

from coterie_recipes.recipe import Read, UnreadableData, divided
from coterie_recipes.tables import number, rows
from coterie_recipes.tabular.generator import COLUMNS, QUALITIES, samples_of

WHOSE, FAULT = "machine", "Machine failure"


def read(path: Path) -> Read:
    """By machine, its rows in the order of the file. Raises UnreadableData."""
    tables: dict[str, list[list[float]]] = {}
    faults: dict[str, list[int]] = {}
    for line, row in rows(path, (WHOSE, FAULT, *COLUMNS)):
        at = f"{path}, line {line}"
        kind = row[COLUMNS[0]].strip().upper()
        if kind not in QUALITIES:
            raise UnreadableData(f"{at}: the type is {kind[:40]!r}, expected one of {', '.join(QUALITIES)}")
        fault = number(row[FAULT], at=at)
        if fault not in (0, 1):
            raise UnreadableData(f"{at}: {FAULT} is {row[FAULT][:40]!r}, expected 0 or 1")
        numbers = [number(row[name], at=at) for name in COLUMNS[1:]]
        tables.setdefault(row[WHOSE], []).append([QUALITIES.index(kind), *numbers])
        faults.setdefault(row[WHOSE], []).append(int(fault))
    if not tables:
        raise UnreadableData(f"{path} has no rows")
    return {
        machine: divided(samples_of(np.array(table), np.array(faults[machine], np.int64)))
        for machine, table in tables.items()
    }
