"""Uploaded programs: PyTorch sees no ``.pt2`` file but one that was checked and written anew."""

import io
from pathlib import Path

import torch
from torch.export import ExportedProgram

from coterie.compile.errors import MalformedUpload
from coterie.compile.loss_program import Criterion, criterion
from coterie.compile.recipe.loss import Loss
from coterie.compile.scrubbed_archive import scrubbed_archive


def load_upload(path: Path) -> ExportedProgram:
    """The program in a file of ``torch.export.save``; no code of the upload runs.

    Raises MalformedUpload, UploadTooLarge, UnsafeUpload or UnsupportedOperator.
    """
    content = scrubbed_archive(path)
    try:
        return torch.export.load(io.BytesIO(content))
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise MalformedUpload(detail=detail.strip().splitlines()[0][:300]) from error


def load_criterion(loss: Loss, path: str | None) -> Criterion:
    """The loss of a recipe, with the program in the file at `path` where it has one.

    Raises UnsupportedLoss, or what `load_upload` raises.
    """
    return criterion(loss, None if path is None else load_upload(Path(path)))
