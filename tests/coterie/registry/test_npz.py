"""Data sets from outside: whatever is wrong with them, they are refused with one code."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.registry.errors import BadDataset
from coterie.registry.npz import inspect_dataset
from coterie_wire.bundle import TensorSpec

X = np.zeros((6, 1, 4, 4), np.float32)
Y = np.array([0, 1, 2, 0, 1, 2])


def saved(directory: Path, **arrays: object) -> Path:
    path = directory / "data.npz"
    np.savez_compressed(path, **arrays)
    return path


def npy(array: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped(directory: Path, **members: bytes) -> Path:
    path = directory / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def test_a_data_set_is_described(tmp_path: Path) -> None:
    facts = inspect_dataset(saved(tmp_path, x=X, y=Y))
    assert facts == (6, (TensorSpec("x", "float32", (1, 4, 4)),), (), "int64", 3)


def test_targets_may_be_numbers_or_rows(tmp_path: Path) -> None:
    assert inspect_dataset(saved(tmp_path, x=X, y=X[:, 0]))[2:] == ((4, 4), "float32", 0)
    assert inspect_dataset(saved(tmp_path, x=X, y=np.tile(Y[:, None], 5)))[2:] == ((5,), "int64", 3)


def test_several_inputs_have_names_and_dtypes(tmp_path: Path) -> None:
    arrays = {"image": X.astype(np.uint8), "lit": Y > 0, "place": Y.astype(np.int32), "user": Y}
    facts = inspect_dataset(saved(tmp_path, **arrays, y=Y))
    assert {spec.name: (spec.dtype, spec.shape) for spec in facts.inputs} == {
        "image": ("uint8", (1, 4, 4)),
        "lit": ("bool", ()),
        "place": ("int32", ()),
        "user": ("int64", ()),
    }


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": X},
        {"x": X, "y": Y, "z": Y[:5]},
        {"x": X, "z": Y},
        {"y": Y},
        {"x": X.astype(np.float16), "y": Y},
        {"x": X, "y": Y > 0},
        {"x" * 201: X, "y": Y},
        {"x": X.astype(np.float64), "y": Y},
        {"x": np.asfortranarray(np.zeros((6, 4), np.float32)), "y": Y},
        {"x": X, "y": Y.astype(np.int32)},
        {"x": X, "y": Y[:5]},
        {"x": X[:0], "y": Y[:0]},
        {"x": X, "y": -Y},
        {"x": X, "y": Y + 1_000_000},
        {"x": np.float32(3), "y": np.int64(3)},
        {"x": np.full_like(X, np.nan), "y": Y},
        {"x": X, "y": np.array([{}] * 6, object)},
    ],
)
def test_what_is_no_data_set_is_refused(arrays: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(BadDataset):
        inspect_dataset(saved(tmp_path, **arrays))


def test_a_member_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    claim = npy(np.zeros((6, 4), np.float32)).replace(b"(6, 4)", b"(9, 4)")
    with pytest.raises(BadDataset):
        inspect_dataset(zipped(tmp_path, x=claim, y=npy(Y)))


def test_a_truth_value_that_is_none_is_refused(tmp_path: Path) -> None:
    broken = npy(Y > 0)[:-1] + b"\x02"
    with pytest.raises(BadDataset, match="neither"):
        inspect_dataset(zipped(tmp_path, x=broken, y=npy(Y)))


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    bomb = saved(tmp_path, x=np.zeros((6, 1_000_000), np.float32), y=Y)
    assert bomb.stat().st_size < 50_000
    with pytest.raises(BadDataset, match="unpacks to"):
        inspect_dataset(bomb, max_bytes=1_000_000)


@given(cut=st.integers(0, 400))
def test_a_truncated_file_is_refused(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole = saved(tmp_path_factory.mktemp("cut"), x=X, y=Y)
    content = whole.read_bytes()
    whole.write_bytes(content[: min(cut, len(content) - 1)])
    with pytest.raises(BadDataset):
        inspect_dataset(whole)


@given(content=st.binary(max_size=200))
def test_other_bytes_are_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("noise") / "data.npz"
    path.write_bytes(content)
    with pytest.raises(BadDataset):
        inspect_dataset(path)


def test_little_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    rows = np.zeros((1024, 70 << 10), np.uint8)
    with pytest.raises(BadDataset, match=r"times its size.*numpy\.savez"):
        inspect_dataset(saved(tmp_path, x=rows, y=np.zeros(1024, np.int64)))
    np.savez(tmp_path / "plain.npz", x=rows, y=np.zeros(1024, np.int64))
    assert inspect_dataset(tmp_path / "plain.npz").rows == 1024
    assert inspect_dataset(saved(tmp_path, x=rows[:512], y=np.zeros(512, np.int64))).rows == 512
