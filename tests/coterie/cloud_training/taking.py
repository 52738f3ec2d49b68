"""A worker on this machine takes a job, once the job has its place."""

import uuid
from datetime import datetime

from django.conf import settings

from coterie.cloud_training.leasing import take_job
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.services import place_jobs
from coterie.cluster.services import GangPlacement, place_of, register_host

PLACES = 2


def place(job_id: uuid.UUID, now: datetime) -> GangPlacement | None:
    """Where it is by `now`; who led it and died gives its place back first."""
    register_host(
        name=settings.CLUSTER_HOST, rack="", address="a", places=PLACES, cores=2, gpus=0, memory_bytes=1, now=now
    )
    for _ in range(2):
        place_jobs(now=now)
    return place_of(job_id)


def begin_job(job_id: uuid.UUID, lease: uuid.UUID, now: datetime) -> TrainingJob | None:
    """The job, if it has a place and nobody holds it."""
    found = place(job_id, now)
    return None if found is None else take_job(job_id, lease, now, place=found)
