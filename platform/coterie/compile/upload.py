"""Loads uploaded programs: PyTorch reads a ``.pt2`` file only after it was checked and rewritten."""

import io
from pathlib import Path

import torch
from torch.export import ExportedProgram

from coterie.compile.errors import MalformedUpload
from coterie.compile.loss_program import Criterion, criterion
from coterie.compile.recipe.loss import Loss
from coterie.compile.scrubbed_archive import archive_without_weights, scrubbed_archive
from coterie.compile.without_weights import ProgramWithoutWeights, Stored


def load_upload(path: Path) -> ExportedProgram:
    """The program in a file of ``torch.export.save``; no code of the upload runs.

    Raises MalformedUpload, UploadTooLarge, UnsafeUpload or UnsupportedOperator.
    """
    return _program_of(scrubbed_archive(path))


def load_without_weights(path: Path) -> ProgramWithoutWeights:
    """As `load_upload`, without the numbers of its parameters. Raises what `load_upload` does."""
    content, offsets = archive_without_weights(path)
    program = _program_of(content)
    return ProgramWithoutWeights(
        program, path, {name: Stored(offset, program.state_dict[name].shape) for name, offset in offsets.items()}
    )


def _program_of(content: bytes) -> ExportedProgram:
    try:
        return torch.export.load(io.BytesIO(content))
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise MalformedUpload(detail=detail.strip().splitlines()[0][:300]) from error


def load_criterion(loss: Loss, path: str | None) -> Criterion:
    """The loss of a recipe, with the program in the file at `path` where it is custom.

    Raises UnsupportedLoss, or what `load_upload` raises.
    """
    return criterion(loss, None if path is None else load_upload(Path(path)))
