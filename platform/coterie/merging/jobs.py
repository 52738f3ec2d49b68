"""What merging asks to be done later."""

from coterie.core.jobs import Job
from coterie.federations.jobs import ADVANCE

__all__ = ["ADVANCE", "MERGE"]

MERGE = Job("coterie.merging.tasks.run_merge")
"""Arguments: merge. Merge its updates and publish the result."""
