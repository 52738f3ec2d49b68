"""Writes the halves of the two parties' network as ``torch.export`` files, in a child process."""

from pathlib import Path

import torch

from coterie.child.job import ReportProgress
from coterie.compile.program import export_module
from coterie.demo.export import ExportArguments, Exported
from coterie_recipes.two_parties.models import Lower, Upper, lower_example, upper_example


def export(arguments: ExportArguments, _report: ReportProgress) -> Exported:
    """`device` is the lower half, `cloud` the upper one."""
    torch.manual_seed(arguments.seed)
    directory = Path(arguments.directory)
    lower, upper = directory / "lower.pt2", directory / "upper.pt2"
    torch.export.save(export_module(Lower(), lower_example()), lower)
    torch.export.save(export_module(Upper(), upper_example()), upper)
    return Exported(device=str(lower), cloud=str(upper))
