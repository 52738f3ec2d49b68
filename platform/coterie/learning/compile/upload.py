"""Uploaded programs: a ``.pt2`` file is checked, stripped of pickles and written anew before PyTorch sees it."""

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch.export import ExportedProgram

from coterie.learning.compile.errors import MalformedUpload, UnsafeUpload, UploadTooLarge
from coterie.learning.compile.loss_program import Criterion, criterion
from coterie.learning.compile.scrub import check_tensor_files, scrub_program
from coterie.learning.recipe.loss import Loss
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


def load_upload(path: Path) -> ExportedProgram:
    """The program in a file of ``torch.export.save``; no code of the upload runs.

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
    try:
        return torch.export.load(io.BytesIO(_archive(members)))
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise MalformedUpload(detail=detail.strip().splitlines()[0][:300]) from error


def load_criterion(loss: Loss, path: str | None) -> Criterion:
    """The loss of a recipe, with the program in the file at `path` where it has one.

    Raises UnsupportedLoss, or what `load_upload` raises.
    """
    return criterion(loss, None if path is None else load_upload(Path(path)))


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
        # PyTorch stores without compression; whoever compresses, hides the size.
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
