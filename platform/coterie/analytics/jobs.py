"""What questions ask to be done later."""

from coterie.core.jobs import Job

ADVANCE = Job("coterie.analytics.tasks.advance_question")
"""Arguments: question. Take it as far as it goes now."""
