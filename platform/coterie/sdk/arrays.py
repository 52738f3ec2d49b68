"""Arrays as an .npz: numbers, nothing pickled."""

import zipfile
from collections.abc import Mapping
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from coterie.evaluation.datasets import MalformedDataset
from coterie.sdk.errors import Rejected
from coterie_wire.archives import KINDS


def write_arrays(file: IO[bytes], arrays: Mapping[str, ArrayLike]) -> None:
    """Write `arrays` by their names. Raises Rejected where one has anything but numbers and truth values."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, _numbers(name, array), allow_pickle=False)


def _numbers(name: str, given: ArrayLike) -> NDArray[np.generic]:
    try:
        array = np.ascontiguousarray(given)
    except ValueError as error:  # NumPy makes no array of such a list
        raise _rejected(f"{name} is a list of lists that differ in length") from error
    if array.dtype.kind not in KINDS:
        what = "texts" if array.dtype.kind in "US" else f"values of type {array.dtype}"
        raise _rejected(f"{name} holds {what}, which are no numbers")
    return array


def _rejected(problem: str) -> Rejected:
    return Rejected(MalformedDataset.code, str(MalformedDataset(detail=problem)))
