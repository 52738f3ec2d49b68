"""Job: write a recipe's model pair as ``torch.export`` files, so that PyTorch is imported by a child alone."""

import msgspec

from coterie.child.job import ChildJob


class ExportArguments(msgspec.Struct, frozen=True):
    """Which pair, where to, and what the initial parameters are drawn from."""

    recipe: str
    directory: str
    seed: int


class Exported(msgspec.Struct, frozen=True):
    """Paths of the files."""

    device: str
    cloud: str


JOB = ChildJob(module=__name__, work="coterie.recipes.writing:export", arguments=ExportArguments, result=Exported)
