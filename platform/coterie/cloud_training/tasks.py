"""The jobs of cloud training, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.cloud_training import running, services


@shared_task(name="coterie.cloud_training.tasks.sweep")
def sweep() -> None:
    """Find work that no worker does; runs all the time."""
    services.sweep(now=timezone.now())


@shared_task(name="coterie.cloud_training.tasks.check_pair")
def check_pair(pair: str) -> None:
    """Have a submitted pair checked."""
    services.check_pair(pair_id=UUID(pair), now=timezone.now())


@shared_task(name="coterie.cloud_training.tasks.run_job")
def run_job(job: str) -> None:
    """Do a training job."""
    running.run_job(job_id=UUID(job), clock=timezone.now)
