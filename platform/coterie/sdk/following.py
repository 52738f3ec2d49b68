"""Follows a job of the cloud until it ends."""

from coterie.offline.progress import ProgressLine
from coterie.sdk.errors import JobFailed
from coterie.sdk.records import Job
from coterie.sdk.rest import Rest

ENDED = ("succeeded", "failed", "cancelled")


def follow(rest: Rest, job: Job, line: ProgressLine) -> None:
    """Wait for `job`, and show its progress. Raises JobFailed."""
    while job.state not in ENDED:
        line.show(stage_of(job))
        rest.pause()
        job = rest.get(f"jobs/{job.id}/", Job)
    if job.state != "succeeded":
        code = job.error_code or f"cloud_training.{job.state}"
        raise JobFailed(code, job.error_sentence or f"The {job.kind} was {job.state}.")
    line.show(f"{job.kind} is done")


def stage_of(job: Job) -> str:
    """Its stage, in words."""
    if job.state == "queued" and job.error_sentence:
        return f"{job.kind} waits, {job.error_sentence}"
    left = "" if job.left_s is None else f", about {job.left_s:.0f} s left"
    return f"{job.kind} {job.progress:.0%}: {job.progress_sentence or job.state}{left}"
