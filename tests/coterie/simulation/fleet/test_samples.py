"""Samples of one's own, as NPZ, Parquet or a directory of either."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from coterie.simulation.errors import MalformedFile
from coterie.simulation.fleet.samples import read_samples
from coterie_wire.bundle import ModelSpec, TensorSpec
from tests.coterie.simulation.fleet.fleets import CLASSES, IMAGE, compiled

COUNT = 12


@pytest.fixture(scope="module")
def model() -> ModelSpec:
    return compiled().spec


def arrays(**changes: object) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(COUNT, *IMAGE)).astype(np.float32)
    found = {"x": x, "y": np.arange(COUNT) % CLASSES, "user": np.arange(COUNT) // 3, **changes}
    return {name: np.asarray(array) for name, array in found.items() if array is not None}


def npz(path: Path, **changes: object) -> Path:
    np.savez(path, **arrays(**changes))  # type: ignore[arg-type]
    return path


def parquet(path: Path, columns: dict[str, object]) -> Path:
    import pyarrow as arrow
    from pyarrow.parquet import write_table

    write_table(arrow.table(columns), path)
    return path


def test_an_npz_file(model: ModelSpec, tmp_path: Path) -> None:
    found = read_samples(npz(tmp_path / "s.npz"), model)
    np.testing.assert_array_equal(found.data.inputs["x"], arrays()["x"])
    assert found.data.classes.tolist() == arrays()["y"].tolist()
    assert found.columns["user"].tolist() == arrays()["user"].tolist()


def test_a_directory_numbers_its_files(model: ModelSpec, tmp_path: Path) -> None:
    npz(tmp_path / "b.npz", user=None)
    npz(tmp_path / "a.npz")
    found = read_samples(tmp_path, model)
    assert found.columns["file"].tolist() == [0] * COUNT + [1] * COUNT
    assert set(found.columns) == {"file"}, "what not all files have tells nobody apart"
    assert len(found.data.labels) == 2 * COUNT


def test_a_parquet_file_of_lists_or_of_columns(model: ModelSpec, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    given = arrays()
    flat, beside = given["x"].reshape(COUNT, -1), {"y": given["y"], "user": [f"u{one}" for one in given["user"]]}
    lists = parquet(tmp_path / "lists.parquet", {"x": flat.tolist(), **beside})
    wide = parquet(tmp_path / "wide.parquet", {f"f{place}": flat[:, place] for place in range(flat.shape[1])} | beside)
    for path in (lists, wide):
        found = read_samples(path, model, beside=["user"])
        np.testing.assert_array_equal(found.data.inputs["x"], given["x"])
        assert found.columns["user"].tolist() == beside["user"]


@pytest.mark.parametrize("of", ["list_", "large_list"])
@pytest.mark.parametrize("nested", [False, True])
def test_lists_of_parquet_as_other_programs_write_them(
    model: ModelSpec, tmp_path: Path, of: str, *, nested: bool
) -> None:
    """Polars writes large lists; a picture is often a list of its rows."""
    arrow = pytest.importorskip("pyarrow")
    given, listed = arrays(), getattr(arrow, of)
    pictures = given["x"].reshape(COUNT, *IMAGE[1:] if nested else (-1,))
    rows = listed(listed(arrow.float64())) if nested else listed(arrow.float64())
    path = parquet(tmp_path / "s.parquet", {"x": arrow.array(pictures.tolist(), rows), "y": given["y"]})
    np.testing.assert_array_equal(read_samples(path, model).data.inputs["x"], given["x"])


def test_missing_numbers_of_parquet_are_told(model: ModelSpec, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = parquet(tmp_path / "s.parquet", {"x": [[0.0, None]] * COUNT, "y": arrays()["y"]})
    with pytest.raises(MalformedFile, match="column x has 12 values that are missing"):
        read_samples(path, model)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"y": None}, "no column y .*: it has x, user"),
        ({"y": np.arange(COUNT) / 2}, r"whole numbers.*: y is float64 \[12\]"),
        ({"y": np.full(COUNT, CLASSES)}, "classes go from 4 to 4, those of the model from 0 to 3"),
        ({"x": np.zeros((COUNT, 3), np.float32)}, r"takes x \[1, 8, 8\]"),
        ({"x": np.zeros((COUNT, 4, 16), np.float32)}, r"takes x \[1, 8, 8\], the samples are float32 \[4, 16\]"),
        ({"x": np.full((COUNT, *IMAGE), np.nan, np.float32)}, "not finite"),
        ({"user": np.zeros(3, np.int64)}, "one row a sample"),
        ({"rate": np.float32(0.1)}, "one row a sample"),
    ],
)
def test_what_cannot_be_used_is_told(model: ModelSpec, tmp_path: Path, changes: dict[str, object], wrong: str) -> None:
    with pytest.raises(MalformedFile, match=wrong):
        read_samples(npz(tmp_path / "s.npz", **changes), model)


def spec(shape: tuple[int, ...], dtype: Literal["float32", "int64"] = "float32") -> ModelSpec:
    inputs = (TensorSpec("x", dtype, shape),)
    return ModelSpec.of_classifier(inputs=inputs, classes=CLASSES, batch_size=5, parameters=())


def test_channels_at_the_end_are_not_taken_for_channels_at_the_front(tmp_path: Path) -> None:
    last = npz(tmp_path / "s.npz", x=np.zeros((COUNT, 4, 4, 3), np.float32))
    with pytest.raises(MalformedFile, match=r"takes x \[3, 4, 4\], the samples are float32 \[4, 4, 3\]"):
        read_samples(last, spec((3, 4, 4)))


@pytest.mark.parametrize("found", [(1, 8, 8), (8, 8), (8, 8, 1), (64,)])
@pytest.mark.parametrize("wanted", [(1, 8, 8), (64,)])
def test_axes_of_one_may_be_left_out_and_all_numbers_may_stand_in_a_row(
    found: tuple[int, ...], wanted: tuple[int, ...], tmp_path: Path
) -> None:
    x = arrays()["x"]
    read = read_samples(npz(tmp_path / "s.npz", x=x.reshape(COUNT, *found)), spec(wanted))
    np.testing.assert_array_equal(read.data.inputs["x"], x.reshape(COUNT, *wanted))


def test_tokens_are_whole_numbers(tmp_path: Path) -> None:
    words = npz(tmp_path / "words.npz", x=np.arange(COUNT * 3, dtype=np.int32).reshape(COUNT, 3))
    assert read_samples(words, spec((3,), "int64")).data.inputs["x"].dtype == np.int64
    numbers = npz(tmp_path / "numbers.npz", x=np.zeros((COUNT, 3)))
    with pytest.raises(MalformedFile, match="x holds float64, expected int64"):
        read_samples(numbers, spec((3,), "int64"))


def test_a_directory_without_samples(model: ModelSpec, tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match=r"no file that ends with"):
        read_samples(tmp_path, model)
    (tmp_path / "s.csv").write_text("x,y\n")
    with pytest.raises(MalformedFile, match="neither"):
        read_samples(tmp_path / "s.csv", model)
