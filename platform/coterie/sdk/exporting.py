"""Exports modules to files that a platform accepts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from coterie.compile.program import export_loss, export_module, in_mode
from coterie.core.errors import CoterieError
from coterie.sdk.errors import Rejected
from coterie_wire.length import Length

Example = Tensor | Sequence[Tensor]
"""The inputs of a model: one tensor or several, each with a leading batch axis of any size."""
LossFunction = Callable[..., Tensor]
"""Of a batch's output, a tuple where a model gives several, and of its targets; a number for each sample, [batch]."""
CUSTOM: Mapping[str, object] = {"kind": "custom"}


def write_programs(
    directory: Path,
    models: Mapping[str, nn.Module],
    example: Example,
    *,
    length: Length | None = None,
    loss: LossFunction | None,
    target: Tensor | None,
    show: Callable[[str], None],
) -> Mapping[str, Path]:
    """Files of ``torch.export.save`` in `directory`: of each of `models` by its role, and of the loss, if there is one.

    Modules are traced in training mode, and left in the mode that they are in, with a dynamic batch, and with the
    `length` in which samples differ, if they do; it names arguments of ``forward``, the same in all models. A loss is
    traced with the outputs of the first model and with `target`, examples of targets. Raises Rejected, or ValueError
    where `loss` comes without `target`.
    """
    if (loss is None) != (target is None):
        raise ValueError("a loss of your own and examples of its targets go together: loss=function, target=tensor")
    inputs = [example] if isinstance(example, Tensor) else list(example)
    written: dict[str, Path] = {}
    try:
        for role, module in models.items():
            show(f"exporting the {role} model")
            written[role] = _write(export_module(module, inputs, length), directory / f"{role}.pt2")
        if loss is not None and target is not None:
            show("exporting the loss")
            program = export_loss(loss, _output(next(iter(models.values())), inputs), target)
            written["loss"] = _write(program, directory / "loss.pt2")
    except CoterieError as error:
        raise Rejected(error.code, str(error), error.fields) from error
    return written


def recipe_with_loss(recipe: Mapping[str, object] | None, loss: LossFunction | None) -> dict[str, object]:
    """`recipe`, whose loss is custom where `loss` is given and it names none."""
    given = dict(recipe or {})
    return given if loss is None or "loss" in given else {**given, "loss": dict(CUSTOM)}


def _write(program: ExportedProgram, path: Path) -> Path:
    torch.export.save(program, path)
    return path


def _output(module: nn.Module, inputs: Sequence[Tensor]) -> Tensor | Sequence[Tensor]:
    with torch.no_grad(), in_mode(module, training=False):  # so that running statistics stay as they are
        output: Tensor | Sequence[Tensor] = module(*inputs)
    return output
