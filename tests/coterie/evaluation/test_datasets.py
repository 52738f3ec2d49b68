from pathlib import Path

import numpy as np
import pytest

from coterie.evaluation.datasets import MalformedDataset, read_dataset
from coterie_wire.bundle import TensorSpec
from coterie_wire.length import Length

CLASS = TensorSpec("target", "int64", ())
IMAGE = (TensorSpec("images", "float32", (1, 2, 2)),)
X = np.zeros((3, 1, 2, 2), np.float32)
Y = np.array([0, 1, 2])


def test_single_input_is_called_x(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=X.astype(np.float64), y=Y.astype(np.uint8))
    dataset = read_dataset(tmp_path / "d.npz", inputs=IMAGE, target=CLASS, choices=3)
    assert dataset.inputs["images"].dtype == np.float32
    assert dataset.labels.dtype == np.int64
    assert len(dataset.take(slice(0, 2)).labels) == 2


def test_several_inputs_go_by_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", images=X, words=np.ones((3, 5), np.int32), y=Y)
    dataset = read_dataset(
        tmp_path / "d.npz", inputs=(*IMAGE, TensorSpec("words", "int64", (5,))), target=CLASS, choices=3
    )
    assert list(dataset.inputs) == ["images", "words"]


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": X},
        {"y": Y},
        {"x": X, "y": Y + 1},
        {"x": X, "y": Y - 1},
        {"x": X, "y": Y.astype(np.float32)},
        {"x": X[:, 0], "y": Y},
        {"x": X[:2], "y": Y},
        {"x": X + np.nan, "y": Y},
        {"x": X.astype(np.complex64), "y": Y},
        {"x": X[:0], "y": Y[:0]},
        {"x": np.array([None] * 3), "y": Y},
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(MalformedDataset):
        read_dataset(tmp_path / "d.npz", inputs=IMAGE, target=CLASS, choices=3)


@pytest.mark.parametrize("content", [b"", b"x", b"PK\x03\x04", b"\x93NUMPY"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "d.npz").write_bytes(content)
    with pytest.raises(MalformedDataset):
        read_dataset(tmp_path / "d.npz", inputs=IMAGE, target=CLASS, choices=3)


def test_single_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", X)
    with pytest.raises(MalformedDataset, match="no NPZ file"):
        read_dataset(tmp_path / "d.npy", inputs=IMAGE, target=CLASS, choices=3)


WORDS = (TensorSpec("words", "int64", (9,)),)
NEXT = TensorSpec("target", "int64", (9,))
LENGTH = Length(2, 9, {"words": 0, "target": 0})


@pytest.mark.parametrize("length", [2, 5, 9])
def test_samples_may_be_filled_up_to_any_length_that_the_model_takes(tmp_path: Path, length: int) -> None:
    words = np.ones((3, length), np.int64)
    np.savez(tmp_path / "d.npz", x=words, y=words)
    dataset = read_dataset(tmp_path / "d.npz", inputs=WORDS, target=NEXT, choices=4, length=LENGTH)
    assert dataset.inputs["words"].shape == dataset.labels.shape == (3, length)


@pytest.mark.parametrize(
    ("x", "y"), [((3, 10), (3, 10)), ((3, 1), (3, 1)), ((3, 4), (3, 5)), ((3,), (3,)), ((3, 4, 1), (3, 4))]
)
def test_samples_of_another_length_than_the_model_takes_are_refused(
    tmp_path: Path, x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    np.savez(tmp_path / "d.npz", x=np.ones(x, np.int64), y=np.ones(y, np.int64))
    with pytest.raises(MalformedDataset):
        read_dataset(tmp_path / "d.npz", inputs=WORDS, target=NEXT, choices=4, length=LENGTH)
