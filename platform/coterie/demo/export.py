"""Job: write the demo's model pair as ``torch.export`` files, so that PyTorch is imported by a child alone."""

import msgspec

from coterie.child.job import ChildJob


class ExportArguments(msgspec.Struct, frozen=True):
    """Where to, and what the initial parameters are drawn from."""

    directory: str
    seed: int


class Exported(msgspec.Struct, frozen=True):
    """Paths of the files."""

    device: str
    cloud: str


JOB = ChildJob(module=__name__, work="coterie.demo.pair:export", arguments=ExportArguments, result=Exported)
