"""Why torch.export failed on a model: which module, which line of it, and what to write instead."""

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, FunctionType

import torch
from torch import nn
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.utils.rnn import PackedSequence

from coterie.compile.errors import (
    BatchBecameConstant,
    DataDependent,
    ExportFailed,
    LengthBecameConstant,
    PackedSequences,
)
from coterie.compile.explanations import explain
from coterie.compile.loss_program import LOSS
from coterie.compile.source_locations import SourceLocation
from coterie.core.errors import CoterieError

OURS = Path(__file__).parent
PYTORCH = Path(torch.__file__).parent
COUNTED = (
    "momentum=None has running statistics be the mean of all batches so far, whose number no graph knows; give "
    "momentum a number, as 0.1"
)
DATA_DEPENDENT = (GuardOnDataDependentSymNode,)
LOCATION = re.compile(r"([^\s/\\()]+\.py):(\d+)")
Sources = Sequence[tuple[str, object]]
"""Paths in a model, with the classes and functions defined there."""


@contextmanager
def users_lines() -> Iterator[None]:
    """Within the block, PyTorch records the line of the user's that asks about a size, and not its own or ours."""
    known = symbolic_shapes.uninteresting_files()  # one set, which it keeps
    inside = [module for name, module in sys.modules.items() if name.startswith(("torch.", "coterie.compile."))]
    files = {getattr(module, "__file__", None) or "" for module in inside}
    added = files - known
    known |= added
    try:
        yield
    finally:
        known -= added


def diagnose(error: Exception, module: nn.Module, loss: Callable[..., object] | None = None) -> CoterieError:
    """The error to raise for an error of `torch.export.export(module, …)`; `module` calls the `loss`, if it is one."""
    owner = "" if loss is None else LOSS
    place = _place(error, module).within(owner)
    if any(isinstance(value, PackedSequence) for frame, _ in _frames(error) for value in frame.f_locals.values()):
        return PackedSequences(**place.fields())
    if isinstance(error, DATA_DEPENDENT):
        if loss is None and _counts_batches(module.get_submodule(place.module)):
            return ExportFailed(detail=COUNTED, **place.fields())
        return DataDependent(**place.fields())
    detail = str(error).strip().splitlines() or [type(error).__name__]
    if "Constraints violated" in detail[0]:
        reason = next((text.strip("- ").strip() for text in detail if text.startswith("  - ")), detail[0])
        is_length = re.search(r"(marked|values of) length\b", reason) is not None
        constant = LengthBecameConstant if is_length else BatchBecameConstant
        sources: Sources = [(path, type(part)) for path, part in module.named_modules()]
        asked = _guard_place(error, sources if loss is None else [*sources, ("", inspect.unwrap(loss))]).within(owner)
        return constant(detail=_condition(reason, "length" if is_length else "batch"), **asked.fields())
    return ExportFailed(detail=explain(detail[0]), **place.fields())


def _counts_batches(part: nn.Module) -> bool:
    return isinstance(part, _NormBase) and part.momentum is None


def _condition(reason: str, name: str) -> str:
    """For people, the constraint that PyTorch put on the size called `name`."""
    if found := re.search(r"specialized it to be a constant \((\d+)\)", reason):
        return f"there the {name} became {found[1]}"
    if found := re.search(r"generated guard (.*?)\.?$", reason):
        condition = re.sub(r"L\['?\w+'?\](?:\[\d+\])*\.size\(\)\[\d+\]", name, found[1])
        return f"it asks whether {condition.replace('torch.sym_float', '')[:200]}"
    return f"it asks about the {name}"


def _place(error: Exception, module: nn.Module) -> SourceLocation:
    """The innermost module that was computing, and the line of the user's code it had reached."""
    paths = {id(part): name for name, part in module.named_modules()}
    path, line, inside = "", "", False
    for frame, number in _frames(error):
        owner = frame.f_locals.get("self")
        if id(owner) in paths and isinstance(owner, nn.Module):
            path, inside = paths[id(owner)], True
        file = Path(frame.f_code.co_filename)
        if inside and not file.is_relative_to(PYTORCH) and not file.is_relative_to(OURS):
            line = _line(file, number)
    return SourceLocation(path, line)


def _guard_place(error: Exception, sources: Sources) -> SourceLocation:
    """Where the model's control flow depended on a size, which PyTorch records in its error."""
    values = (value for frame, _ in _frames(error) for value in frame.f_locals.values())
    for environment in (getattr(value, "shape_env", None) for value in values):
        if not isinstance(environment, ShapeEnv):
            continue
        for sloc in (*(guard.sloc for guard in environment.guards), *environment.replacements_slocs.values()):
            for name, number in LOCATION.findall(str(sloc)):
                if place := _in_sources(sources, name, int(number)):
                    return place
    return SourceLocation("", "")


def _in_sources(sources: Sources, name: str, number: int) -> SourceLocation | None:
    """The line `number` of the file called `name`, if one of the user's `sources` is defined there."""
    found = None
    for path, source in sources:
        if not isinstance(source, type | FunctionType):
            continue
        file = inspect.getsourcefile(source)
        if file is None or Path(file).name != name or Path(file).is_relative_to(PYTORCH):
            continue
        found = found or SourceLocation("", _line(Path(file), number))
        lines, first = inspect.getsourcelines(source)
        if first <= number < first + len(lines):
            return SourceLocation(path, _line(Path(file), number))
    return found


def _line(file: Path, number: int) -> str:
    text = linecache.getline(str(file), number).strip()
    return f"{file.name}:{number}: {text}" if text else f"{file.name}:{number}"


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """From the outermost to the one that raised."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
