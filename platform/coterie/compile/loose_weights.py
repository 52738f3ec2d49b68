"""Finds weights that a model keeps in lists and dicts of Python, where neither training nor ``state_dict()`` sees them.

PyTorch exports them as constants: devices would compute with them, and a downloaded version would leave them out.
"""

from collections.abc import Iterator

from torch import Tensor, nn
from torch.export import ExportedProgram

from coterie.compile.errors import ExportFailed
from coterie.compile.source_locations import SourceLocation

EMPTY = 0
"""The address of a tensor without elements."""
DETAIL = (
    "it computes with weights in self.{name}, which is a {kind} of Python, so that neither training nor state_dict() "
    "sees them; keep them in nn.ModuleList, nn.ModuleDict or nn.ParameterList, and say requires_grad_(False) of what "
    "shall not train"
)


def refuse_loose_weights(program: ExportedProgram, module: nn.Module) -> None:
    """Raises ExportFailed where `program`, exported of `module`, computes with such weights that require a gradient."""
    constants = {value.data_ptr() for value in program.constants.values() if isinstance(value, Tensor)} - {EMPTY}
    for path, part in module.named_modules():
        for name, kept in vars(part).items():
            if isinstance(kept, list | tuple | dict) and any(
                weight.requires_grad and weight.data_ptr() in constants for weight in _weights(kept)
            ):
                detail = DETAIL.format(name=name, kind=type(kept).__name__)
                raise ExportFailed(detail=detail, **SourceLocation(path, "").fields())


def _weights(kept: object) -> Iterator[Tensor]:
    if isinstance(kept, nn.Module):
        yield from kept.parameters()
    elif isinstance(kept, Tensor):
        yield kept
    elif isinstance(kept, list | tuple | dict):
        for value in kept.values() if isinstance(kept, dict) else kept:
            yield from _weights(value)
