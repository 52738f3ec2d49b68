"""A job's log: a line for each stage and every few seconds of progress, bounded in length."""

import uuid
from datetime import datetime, timedelta

from coterie.cloud_training.models import JobLine

LINE_EVERY = timedelta(seconds=5)
MAX_LINES = 1_000
MAX_CHARACTERS = 400


def log(job_id: uuid.UUID, text: str, now: datetime) -> None:
    """Add a line; a long log loses its oldest lines."""
    line = JobLine.objects.create(job_id=job_id, at=now, text=text[:MAX_CHARACTERS])
    if line.pk % 100 == 0:
        kept = JobLine.objects.filter(job_id=job_id).order_by("-id").values_list("pk", flat=True)[:MAX_LINES]
        JobLine.objects.filter(job_id=job_id, pk__lt=min(kept)).delete()


def log_progress(job_id: uuid.UUID, stage: str, sentence: str, now: datetime) -> None:
    """Add a line where the stage has changed, or the last line is a while ago."""
    last = JobLine.objects.filter(job_id=job_id).order_by("-id").first()
    if last is None or now - last.at >= LINE_EVERY or not last.text.startswith(stage):
        log(job_id, sentence, now)
