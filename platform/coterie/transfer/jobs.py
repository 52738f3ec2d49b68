"""What transfers ask to be done later."""

from coterie.core.jobs import Job

ADVANCE = Job("coterie.transfer.tasks.advance_request")
"""Arguments: request. Advance a help request as far as it goes."""
