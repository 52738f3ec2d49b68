"""Celery tasks of simulation runs."""

from celery import shared_task
from django.utils import timezone

from coterie.simulation_runs import running, services


@shared_task(name="coterie.simulation_runs.tasks.sweep")
def sweep() -> float:
    """Find runs without a worker; runs periodically."""
    return services.sweep(now=timezone.now())


@shared_task(name="coterie.simulation_runs.tasks.perform")
def perform() -> None:
    """Perform waiting runs."""
    running.perform(clock=timezone.now)
