"""What evaluations ask to be done later."""

from coterie.core.jobs import Job

ADVANCE = Job("coterie.fleet_evaluation.tasks.advance")
"""Arguments: evaluation. Advance it as far as it goes."""
