"""The jobs that webhooks enqueue."""

from coterie.core.jobs import Job

DELIVER = Job("coterie.webhooks.tasks.deliver")
"""Arguments: webhook. Try what is due there now, one delivery after the other."""
