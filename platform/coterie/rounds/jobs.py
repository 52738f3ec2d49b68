"""What rounds ask to be done later."""

from coterie.core.jobs import Job
from coterie.federations.jobs import ADVANCE

__all__ = ["ADVANCE", "MERGE"]

MERGE = Job("coterie.rounds.tasks.merge_round")
"""Arguments: round. Merge its updates and publish the result."""
