"""Sensors' tables: a directory with a CSV file for each machine, as in SKAB (Katser and Kozitsin 2020).

A header, then a line for each moment, separated by commas or semicolons. The first four columns of numbers are the
sensors; a column ``anomaly`` with 0 and 1, where there is one, is what the test is judged by, and never learned from.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coterie_recipes.anomaly.generator import SENSORS, STEPS, samples_of, truth_of
from coterie_recipes.recipe import Person, Read, UnreadableData, divided
from coterie_recipes.tables import number, rows

NOT_SENSORS = ("anomaly", "changepoint", "datetime", "time", "timestamp", "date")
MARK = "anomaly"


def read(path: Path) -> Read:
    """By name of the file, windows of 48 moments. Raises UnreadableData."""
    files = sorted(path.glob("*.csv"))
    if not files:
        raise UnreadableData(f"{path} has no CSV files in it, one for each machine")
    return {file.stem: _machine(file) for file in files}


def _machine(file: Path) -> Person:
    try:
        with file.open(encoding="utf-8-sig") as opened:
            header = opened.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableData(f"{file}: {error}") from error
    delimiter = ";" if ";" in header else ","
    names = [name.strip('"') for name in header.split(delimiter)]
    sensors = [name for name in names if name.lower() not in NOT_SENSORS][:SENSORS]
    if len(sensors) < SENSORS:
        raise UnreadableData(f"{file}: the first line names {len(sensors)} sensors, expected {SENSORS}")
    values, marks = _columns(file, sensors, delimiter, marked=MARK in names)
    whole = len(values) // STEPS
    if not whole:
        raise UnreadableData(f"{file} has {len(values)} lines; a window takes {STEPS}")
    windows = values[: whole * STEPS].reshape(whole, STEPS, SENSORS).transpose(0, 2, 1)
    return divided(samples_of(windows), truth=truth_of(marks[: whole * STEPS].reshape(whole, STEPS)))


def _columns(
    file: Path, sensors: Sequence[str], delimiter: str, *, marked: bool
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """The sensors' values [moments, 4], and at each moment whether something was wrong."""
    values, marks = [], []
    for line, row in rows(file, sensors, delimiter=delimiter):
        at = f"{file}, line {line}"
        values.append([number(row[name], at=at) for name in sensors])
        marks.append(int(number(row[MARK], at=at)) if marked else 0)
    return np.array(values, np.float64).reshape(len(values), SENSORS), np.array(marks, np.int64)
