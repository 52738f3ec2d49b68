"""UCI HAR's directory: windows of total acceleration in g, whose they are and what was done, in text files.

Windows there overlap by half. Whoever divides them at random has nearly the same windows on both sides.
"""

from pathlib import Path

import numpy as np

from coterie_recipes.har.generator import ACTIVITIES, STEPS
from coterie_recipes.recipe import Person, Read, Samples, UnreadableData, divided
from coterie_recipes.tables import numbers

PARTS = ("train", "test")
"""UCI HAR's own division is by person; both parts are read, those that are there."""


def read(path: Path) -> Read:
    """By subject, windows [n, 3, 128]. Raises UnreadableData."""
    found: dict[str, Person] = {}
    parts = [part for part in PARTS if (path / part).is_dir()]
    if not parts:
        raise UnreadableData(f"{path} is no directory of UCI HAR: it has neither train nor test in it")
    for part in parts:
        subjects = numbers(path / part / f"subject_{part}.txt").astype(np.int64)
        labels = numbers(path / part / f"y_{part}.txt").astype(np.int64) - 1
        axes = [numbers(path / part / "Inertial Signals" / f"total_acc_{axis}_{part}.txt") for axis in "xyz"]
        if any(axis.ndim != 2 or axis.shape[1] != STEPS for axis in axes):
            raise UnreadableData(f"{path / part}: a line of total_acc has {STEPS} numbers")
        if len({len(subjects), len(labels), *map(len, axes)}) != 1:
            raise UnreadableData(f"{path / part}: the files do not have as many lines each")
        if labels.min() < 0 or labels.max() >= len(ACTIVITIES):
            raise UnreadableData(f"{path / part}: activities are numbers, 1 to {len(ACTIVITIES)}")
        windows = np.stack(axes, axis=1).astype(np.float32)
        for subject in np.unique(subjects).tolist():
            rows = np.flatnonzero(subjects == subject)
            found[str(subject)] = divided(Samples(windows[rows], labels[rows]), gap=1)
    return found
