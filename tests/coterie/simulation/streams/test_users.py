"""Samples of one's own as a stream."""

from pathlib import Path

import numpy as np
import pytest

from coterie.simulation.errors import MalformedFile
from coterie.simulation.streams.users import Users

COUNT = 12


def npz(directory: Path, **changes: object) -> str:
    found = {
        "x": np.arange(COUNT * 2, dtype=np.float32).reshape(COUNT, 2),
        "y": np.arange(COUNT) % 3,
        "user": np.arange(COUNT) // 6,
    }
    path = directory / "samples.npz"
    np.savez(path, **{name: np.asarray(array) for name, array in {**found, **changes}.items()})  # type: ignore[arg-type]
    return str(path)


def test_each_user_has_its_samples_in_the_order_of_the_file(tmp_path: Path) -> None:
    drawn = Users(file=npz(tmp_path), batch_size=4).draw(devices=2, seed=0)
    assert [[batch.labels.tolist() for batch in batches] for batches in drawn.batches] == [[[0, 1, 2, 0], [1, 2]]] * 2
    assert drawn.batches[1][0].inputs["x"][0].tolist() == [12, 13]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"x": np.full((COUNT, 2), np.nan)}, "x holds numbers that are not finite"),
        ({"rate": 0.1}, "must be of the same length"),
        ({"y": np.arange(COUNT) - 1}, "classes go from -1"),
        ({"user": np.zeros(COUNT)}, "no array user of whole numbers"),
    ],
)
def test_what_cannot_be_used_is_told(changes: dict[str, object], wrong: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match=wrong):
        Users(file=npz(tmp_path, **changes)).draw(devices=2, seed=0)


def test_numbers_are_not_cut_to_whole_ones(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="x holds float32, expected int64"):
        Users(file=npz(tmp_path), dtype="int64").draw(devices=2, seed=0)


@pytest.mark.parametrize("name", ["samples.parquet", "directory"])
def test_what_only_a_split_takes_is_told_as_such(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.mkdir()
    with pytest.raises(MalformedFile, match="taken with a split"):
        Users(file=str(path)).users()
