"""Deferred work of cloud training."""

from coterie.core.jobs import Job

RUN = Job("coterie.cloud_training.tasks.run_job")
"""Arguments: job, placement. Do the work of a training job, or lead its gang."""
JOIN = Job("coterie.cloud_training.tasks.join_gang")
"""Arguments: job, placement, host, first, leader, port, secret. Run this host's share of a gang that another leads."""
PLACE = Job("coterie.cloud_training.tasks.place")
"""Find places for the jobs that wait."""
