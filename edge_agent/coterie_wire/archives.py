"""Arrays in an NPZ file, as numpy.savez writes them: numbers, never objects, and no larger than the file says."""

import lzma
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from coterie_wire.errors import WireError

Numbers: TypeAlias = NDArray[np.generic]
KINDS = "biuf"
"""NumPy's letters for booleans, whole numbers and floating-point numbers."""
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # an encrypted member
    SyntaxError,
    TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What zipfile and NumPy raise on files that are not what they should be."""


def read_arrays(path: Path, *, max_bytes: int) -> Mapping[str, Numbers]:
    """Every array of the file at `path`, read-only, by its name.

    Raises WireError ``arrays.too_large`` or ``arrays.malformed``, before it allocates more than `max_bytes` in all.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            size_bytes = sum(member.file_size for member in members)
            if size_bytes > max_bytes:
                raise WireError("arrays.too_large", f"it unpacks to {size_bytes} bytes; at most {max_bytes} are read")
            found: dict[str, Numbers] = {}
            for member in members:
                with archive.open(member) as file:
                    found[member.filename.removesuffix(".npy")] = _read_array(file, member)
            return found
    except BROKEN as error:
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise _malformed(f"it is no NPZ file: {reason[0]}") from error


def _read_array(file: IO[bytes], member: zipfile.ZipInfo) -> Numbers:
    version = npy.read_magic(file)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise _malformed(f"{member.filename} is of NPY version {version}")
    shape, is_fortran, dtype = read_header(file)
    if dtype.kind not in KINDS:
        raise _malformed(f"{member.filename} holds {dtype}, which are no numbers")
    content = file.read(member.file_size)
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != len(content):
        raise _malformed(f"{member.filename} is {dtype} {list(shape)} in {len(content)} bytes")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if is_fortran else "C")


def _malformed(detail: str) -> WireError:
    return WireError("arrays.malformed", detail)
