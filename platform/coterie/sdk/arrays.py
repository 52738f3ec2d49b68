"""Arrays as an .npz, nothing pickled."""

import zipfile
from collections.abc import Mapping
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike


def write_arrays(file: IO[bytes], arrays: Mapping[str, ArrayLike]) -> None:
    """Write `arrays` by their names."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
