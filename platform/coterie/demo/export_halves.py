"""Job: write the halves of the two parties' network as ``torch.export`` files, in a child that imports PyTorch."""

from coterie.child.job import ChildJob
from coterie.demo.export import ExportArguments, Exported

JOB = ChildJob(module=__name__, work="coterie.demo.halves:export", arguments=ExportArguments, result=Exported)
