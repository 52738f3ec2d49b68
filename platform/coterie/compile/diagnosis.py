"""Why torch.export gave up on a model: which module, which line of it, and what to write instead."""

import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import torch
from torch import nn
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.nn.utils.rnn import PackedSequence

from coterie.compile.errors import (
    BatchBecameConstant,
    DataDependent,
    ExportFailed,
    LengthBecameConstant,
    PackedSequences,
)
from coterie.compile.places import Place
from coterie.core.errors import CoterieError

LOSSES = Path(__file__).with_name("program.py")
"""Wraps losses in modules."""
PYTORCH = Path(torch.__file__).parent
DATA_DEPENDENT = (GuardOnDataDependentSymNode,)


def diagnose(error: Exception, module: nn.Module) -> CoterieError:
    """The error to raise for what `torch.export.export(module, …)` raised."""
    place = _place(error, module)
    if any(isinstance(value, PackedSequence) for frame, _ in _frames(error) for value in frame.f_locals.values()):
        return PackedSequences(**place.fields())
    if isinstance(error, DATA_DEPENDENT):
        return DataDependent(**place.fields())
    detail = str(error).strip().splitlines() or [type(error).__name__]
    if "Constraints violated" in detail[0]:
        reason = next((text.strip("- ").strip() for text in detail if text.startswith("  - ")), detail[0])
        constant = LengthBecameConstant if re.search(r"(marked|values of) length\b", reason) else BatchBecameConstant
        return constant(detail=reason.split(". If you", 1)[0][:300])
    return ExportFailed(detail=detail[0][:400], **place.fields())


def _place(error: Exception, module: nn.Module) -> Place:
    """The innermost module that was computing, and the line of the user's code it had reached."""
    paths = {id(part): name for name, part in module.named_modules()}
    path, line, inside = "", "", False
    for frame, number in _frames(error):
        owner = frame.f_locals.get("self")
        if id(owner) in paths and isinstance(owner, nn.Module):
            path, inside = paths[id(owner)], True
        file = Path(frame.f_code.co_filename)
        if inside and not file.is_relative_to(PYTORCH) and file != LOSSES:
            text = linecache.getline(str(file), number).strip()
            line = f"{file.name}:{number}: {text}" if text else f"{file.name}:{number}"
    return Place(path, line)


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """From the outermost to the one that raised."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
