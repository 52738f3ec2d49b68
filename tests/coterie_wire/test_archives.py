"""NPZ archives: what NumPy writes is read, and whatever else stands there is refused."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from coterie_wire.archives import read_arrays
from coterie_wire.errors import WireError

LIMIT = 1 << 20


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_is_read(tmp_path: Path, save: Callable[..., None]) -> None:
    arrays = {
        "x": np.arange(12, dtype=np.float64).reshape(3, 4),
        "fortran": np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
        "y": np.array(True),
        "none": np.zeros((0, 5)),
    }
    save(tmp_path / "a.npz", **arrays)
    found = read_arrays(tmp_path / "a.npz", max_bytes=LIMIT)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def archive(path: Path, member: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", member)
    return path


def member(shape: tuple[int, ...], content: bytes, dtype: str = "<f4") -> bytes:
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an array",
        member((1 << 40,), b"four"),
        member((-1, -1), b"four"),
        member((1,), b"four and more"),
        member((1,), b"eight by", "|O"),
        member((2,), b"four", "<U1"),
        member((1 << 40,), b"", "|V0"),
    ],
)
def test_a_member_that_is_not_what_it_says_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_arrays(archive(tmp_path / "a.npz", content), max_bytes=LIMIT)
    assert caught.value.code == "arrays.malformed"


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(LIMIT, np.int8))
    with pytest.raises(WireError) as caught:
        read_arrays(tmp_path / "a.npz", max_bytes=LIMIT)
    assert caught.value.code == "arrays.too_large"


@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_damage_raises_only_wire_errors(tmp_path_factory: pytest.TempPathFactory, position: int, value: int) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(100), y=np.zeros(3))
    content = bytearray(buffer.getvalue())
    content[position % len(content)] = value
    path.write_bytes(content)
    try:
        read_arrays(path, max_bytes=LIMIT)
    except WireError as error:
        assert error.code in ("arrays.malformed", "arrays.too_large")
