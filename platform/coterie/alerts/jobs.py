"""The jobs that alerts enqueue."""

from coterie.core.jobs import Job

SEND = Job("coterie.alerts.tasks.send")
"""Arguments: channel. Send what is due there now, one message after the other."""
