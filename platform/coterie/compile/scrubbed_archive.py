"""The archive that an uploaded program is: checked, stripped of pickles and written anew, without PyTorch."""

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from coterie.compile.errors import MalformedUpload, UnsafeUpload, UploadTooLarge
from coterie.compile.scrub import check_tensor_files, scrub_program
from coterie_wire.archives import BROKEN

MAX_BYTES = 1 << 30
MAX_MEMBERS = 5000
MAX_TEXT_BYTES = 64 << 20
"""Of a JSON member."""

MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
SAMPLE_INPUTS = "data/sample_inputs/model.pt"
TEXTS = {MODEL, WEIGHTS, CONSTANTS}
TENSOR = re.compile(r"data/(?:weights/weight_\d{1,5}|constants/tensor_\d{1,5})")
MARKS = {"archive_format", "archive_version", "byteorder", ".data/version", ".data/serialization_id"}


def scrubbed_archive(path: Path) -> bytes:
    """What PyTorch may read of a file of ``torch.export.save``.

    Raises MalformedUpload, UploadTooLarge, UnsafeUpload or UnsupportedOperator.
    """
    members = dict(_read_members(path))
    members[MODEL] = scrub_program(members[MODEL])
    for listing, folder in ((WEIGHTS, "data/weights/"), (CONSTANTS, "data/constants/")):
        stored = {
            name.removeprefix(folder): len(content) for name, content in members.items() if name.startswith(folder)
        }
        check_tensor_files(members[listing], stored)
    # A pickle of the example inputs; empty, PyTorch goes without.
    members[SAMPLE_INPUTS] = b""
    return _archive(members)


def _read_members(path: Path) -> Mapping[str, bytes]:
    """The members by their names below the archive's root; sizes are judged before anything is read."""
    size_bytes = path.stat().st_size
    if size_bytes > MAX_BYTES:
        raise UploadTooLarge(found=f"{size_bytes} bytes", limit=f"{MAX_BYTES} bytes")
    try:
        with zipfile.ZipFile(path) as archive:
            names = _checked_names(archive, size_bytes)
            return {name: archive.read(info) for name, info in names.items()}
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
