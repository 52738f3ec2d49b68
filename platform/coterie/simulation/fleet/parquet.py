"""Parquet files of samples: columns of numbers, of text, and of lists of one length, as deep as they are nested."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.errors import MalformedFile, MissingPackage

if TYPE_CHECKING:
    import pyarrow

SUFFIX = ".parquet"


def read_parquet(path: Path) -> Mapping[str, NDArray[np.generic]]:
    """The columns by name; a list's axes are those behind the first. Raises MalformedFile or MissingPackage."""
    if find_spec("pyarrow") is None:
        raise MissingPackage(package="pyarrow", purpose="Parquet files", extra="simulation")
    import pyarrow as arrow  # imported here: rarely needed
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        raise MalformedFile(path=str(path), detail=f"it is no Parquet file: {error}") from error
    return {name: _array(path, name, table.column(name).combine_chunks()) for name in table.column_names}


def _array(path: Path, name: str, column: "pyarrow.Array") -> NDArray[np.generic]:
    from pyarrow import types

    if column.null_count:
        raise MalformedFile(path=str(path), detail=f"column {name} has {column.null_count} values that are missing")
    if any(is_kind(column.type) for is_kind in (types.is_list, types.is_large_list, types.is_fixed_size_list)):
        within = _array(path, name, column.flatten())
        lengths = set(column.value_lengths().to_pylist())
        if len(lengths) != 1:
            raise MalformedFile(path=str(path), detail=f"the lists of column {name} differ in length")
        return within.reshape(len(column), *lengths, *within.shape[1:])
    values: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values
