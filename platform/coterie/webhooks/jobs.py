"""What webhooks ask to be done later."""

from coterie.core.jobs import Job

DELIVER = Job("coterie.webhooks.tasks.deliver")
"""Arguments: delivery. Try it now, if it is due."""
