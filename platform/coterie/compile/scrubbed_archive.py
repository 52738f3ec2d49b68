"""The archive of an uploaded program: checked, stripped of pickles and rewritten, without PyTorch."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from coterie.compile.errors import MalformedUpload, UnsafeUpload, UploadTooLarge
from coterie.compile.scrub import check_tensor_files, files_of_one, scrub_program, without_numbers
from coterie_wire.archives import BROKEN

MAX_BYTES = 1 << 30
MAX_MEMBERS = 5000
MAX_TEXT_BYTES = 64 << 20
"""Of a JSON member."""

MODEL = "models/model.json"
WEIGHTS_FOLDER = "data/weights/"
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
SAMPLE_INPUTS = "data/sample_inputs/model.pt"
LOCAL_HEADER_BYTES = 30
"""Of a member; the last four are the sizes of its name and of the extra field after it."""
TEXTS = {MODEL, WEIGHTS, CONSTANTS}
TENSOR = re.compile(r"data/(?:weights/weight_\d{1,5}|constants/tensor_\d{1,5})")
MARKS = {"archive_format", "archive_version", "byteorder", ".data/version", ".data/serialization_id"}


def scrubbed_archive(path: Path) -> bytes:
    """The archive of a file of ``torch.export.save`` that PyTorch may read.

    Raises MalformedUpload, UploadTooLarge, UnsafeUpload or UnsupportedOperator.
    """
    with _opened(path) as (archive, infos):
        _check_tensors(archive, infos)
        members = {name: archive.read(info) for name, info in infos.items()}
    return _scrubbed(members)


class ArchiveWithoutWeights(NamedTuple):
    """A program without numbers of parameters."""

    content: bytes
    """An archive whose omitted parameters are on PyTorch's device ``meta``."""
    offsets: Mapping[str, int]
    """Where in the whole file their numbers begin, in bytes: float32, little-endian, row after row."""


def archive_without_weights(path: Path) -> ArchiveWithoutWeights:
    """As `scrubbed_archive`, but without the numbers of parameters that have a member of their own, in order.

    Raises what `scrubbed_archive` does.
    """
    with _opened(path) as (archive, infos):
        _check_tensors(archive, infos)
        listing = archive.read(infos[WEIGHTS])
        left = {
            name: infos[f"{WEIGHTS_FOLDER}{file}"]
            for name, file in files_of_one(listing, _sizes(infos, WEIGHTS_FOLDER)).items()
        }
        empty = {info.filename for info in left.values()}
        members = {name: b"" if info.filename in empty else archive.read(info) for name, info in infos.items()}
        offsets = {name: _begin_of(path, info) for name, info in left.items()}
    members[WEIGHTS] = without_numbers(listing, left.keys())
    return ArchiveWithoutWeights(_scrubbed(members), offsets)


def _scrubbed(members: Mapping[str, bytes]) -> bytes:
    # A pickle of the example inputs; empty, PyTorch goes without.
    return _archive({**members, MODEL: scrub_program(members[MODEL]), SAMPLE_INPUTS: b""})


def _check_tensors(archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> None:
    for listing, folder in ((WEIGHTS, WEIGHTS_FOLDER), (CONSTANTS, "data/constants/")):
        check_tensor_files(archive.read(infos[listing]), _sizes(infos, folder))


def _sizes(infos: Mapping[str, zipfile.ZipInfo], folder: str) -> Mapping[str, int]:
    return {name.removeprefix(folder): info.file_size for name, info in infos.items() if name.startswith(folder)}


def _begin_of(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's content begins: its own header may be longer than the archive's list says."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(LOCAL_HEADER_BYTES)
    if len(header) < LOCAL_HEADER_BYTES:
        raise MalformedUpload(detail=f"member {info.filename[:100]!r} ends within its header")
    name_bytes, extra_bytes = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    return info.header_offset + LOCAL_HEADER_BYTES + name_bytes + extra_bytes


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, Mapping[str, zipfile.ZipInfo]]]:
    """The archive, and its members by their names below its root; sizes are checked before anything is read."""
    size_bytes = path.stat().st_size
    if size_bytes > MAX_BYTES:
        raise UploadTooLarge(found=f"{size_bytes} bytes", limit=f"{MAX_BYTES} bytes")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, _checked_names(archive, size_bytes)
    except BROKEN as error:
        raise MalformedUpload(detail=str(error)[:200] or type(error).__name__) from error


def _checked_names(archive: zipfile.ZipFile, size_bytes: int) -> Mapping[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise UploadTooLarge(found=f"{len(infos)} members", limit=f"{MAX_MEMBERS} members")
    names: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _, _, name = info.filename.partition("/")
        if not (name in TEXTS | MARKS or name == SAMPLE_INPUTS or TENSOR.fullmatch(name)):
            raise UnsafeUpload(detail=f"a member called {info.filename[:100]!r}")
        if name in names:
            raise MalformedUpload(detail=f"two members called {name!r}")
        # PyTorch stores without compression; a compressed member hides its size.
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise UnsafeUpload(detail=f"member {name!r} is compressed")
        if name in TEXTS and info.file_size > MAX_TEXT_BYTES:
            raise UploadTooLarge(found=f"{info.file_size} bytes of {name}", limit=f"{MAX_TEXT_BYTES} bytes")
        names[name] = info
    total = sum(info.file_size for info in infos)
    if total > size_bytes:
        raise UnsafeUpload(detail=f"members of {total} bytes in a file of {size_bytes}")
    if missing := TEXTS - names.keys():
        raise MalformedUpload(detail=f"{min(missing)} is missing")
    return names


def _archive(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(f"program/{name}", content)
    return buffer.getvalue()
