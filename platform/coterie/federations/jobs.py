"""What federations ask to be done later."""

from coterie.core.jobs import Job

ADVANCE = Job("coterie.rounds.tasks.advance_federation")
"""Arguments: federation. Perform what is due in its rounds."""
