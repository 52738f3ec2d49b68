"""The axis in which samples differ in length, as a dynamic size of programs beside the batch's."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.export import ExportedProgram

from coterie.compile.errors import LengthBecameConstant, UnboundedLength, UnsupportedSignature
from coterie.compile.source_locations import SourceLocation
from coterie_wire.length import MAX_LENGTH, Length


def dynamic_axes(tensor: Tensor) -> tuple[int, ...]:
    """The axes of a batch with dynamic sizes."""
    return tuple(axis for axis, size in enumerate(tensor.shape) if not isinstance(size, int))


def size_of_length(inputs: Mapping[str, Tensor]) -> torch.SymInt | None:
    """The dynamic size of samples, if there is one. Raises UnsupportedSignature where there are several."""
    sizes: list[int | torch.SymInt] = [size for tensor in inputs.values() for size in tensor.shape[1:]]
    found = {size.node.expr: size for size in sizes if isinstance(size, torch.SymInt)}
    batches = {str(tensor.shape[0]) for tensor in inputs.values()}
    if len(found) > 1 or batches.intersection(map(str, found)):
        raise UnsupportedSignature(found=f"beside the batch {len(found)} sizes are dynamic, or the batch's own again")
    return next(iter(found.values()), None)


def find_length(program: ExportedProgram, inputs: Mapping[str, Tensor]) -> Length | None:
    """The range of the lengths of samples of `program`, and their axes; None where all samples have one shape.

    Raises UnsupportedSignature or UnboundedLength.
    """
    size = size_of_length(inputs)
    if size is None:
        return None
    axes = {name: dynamic_axes(tensor)[1:] for name, tensor in inputs.items()}
    if any(len(found) > 1 for found in axes.values()):
        raise UnsupportedSignature(found="an input has two axes of dynamic length")
    bounds = program.range_constraints.get(size.node.expr)
    if bounds is None or bounds.upper > MAX_LENGTH:
        raise UnboundedLength(longest=MAX_LENGTH)
    return Length(
        shortest=max(1, int(bounds.lower)),
        longest=int(bounds.upper),
        axes={name: found[0] - 1 for name, found in axes.items() if found},
    )


def shape_of_longest(tensor: Tensor, length: Length | None) -> tuple[int, ...]:
    """The shape of one sample of a batch `tensor`, at the greatest length."""
    longest = 0 if length is None else length.longest
    return tuple(size if isinstance(size, int) else longest for size in tensor.shape[1:])


@contextmanager
def at_any_length(size: torch.SymInt | None, batch: int | torch.SymInt = 1) -> Iterator[None]:
    """Raises LengthBecameConstant where the traced code of the block, for a `batch`, holds for some lengths only."""
    if size is None:
        yield
        return
    environment, symbol = size.node.shape_env, size.node.expr
    # PyTorch always checks whether a size that may be 1 is 1, to broadcast it; graphs broadcast by themselves.
    environment.constrain_symbol_range(symbol, compiler_min=2, compiler_max=MAX_LENGTH)
    if isinstance(batch, torch.SymInt):
        environment.constrain_symbol_range(batch.node.expr, compiler_min=2, compiler_max=sys.maxsize)
    known = len(environment.guards)
    yield
    for guard in environment.guards[known:]:
        if symbol in guard.expr.free_symbols:
            raise LengthBecameConstant(detail=f"it asks whether {guard.expr}", **SourceLocation("", "").fields())
