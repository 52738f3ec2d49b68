"""What cloud training asks to be done later."""

from coterie.core.jobs import Job

RUN = Job("coterie.cloud_training.tasks.run_job")
"""Arguments: job. Do the work of a training job."""
