"""The jobs of cloud training, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.cloud_training import running, services, together


@shared_task(name="coterie.cloud_training.tasks.sweep")
def sweep() -> float:
    """Find work that no worker does; runs periodically."""
    return services.sweep(now=timezone.now())


@shared_task(name="coterie.cloud_training.tasks.check_pair")
def check_pair(pair: str) -> None:
    """Have a submitted pair checked."""
    services.check_pair(pair_id=UUID(pair), now=timezone.now())


@shared_task(name="coterie.cloud_training.tasks.place")
def place() -> float:
    """Find places for the jobs that wait; runs periodically."""
    return services.place_jobs(now=timezone.now())


@shared_task(name="coterie.cloud_training.tasks.run_job")
def run_job(job: str, placement: int) -> None:
    """Run a training job that was placed with this host as its lead."""
    running.run_job(job_id=UUID(job), placement=placement, clock=timezone.now)


@shared_task(name="coterie.cloud_training.tasks.join_gang")
def join_gang(job: str, placement: int, host: str, first: int, leader: str, port: int, secret: str) -> None:
    """Run this host's share of a gang that another one leads."""
    meeting = together.Meeting(leader=leader, port=port, secret=secret)
    together.join_gang(
        job_id=UUID(job), placement=placement, host=host, first=first, meeting=meeting, clock=timezone.now
    )
