"""What owners ask to be done later."""

from coterie.core.jobs import Job

SWEEP = Job("coterie.owners.tasks.sweep")
REBUILD = Job("coterie.owners.tasks.rebuild")
"""Arguments: rebuild. Continue it."""
