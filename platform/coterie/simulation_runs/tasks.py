"""Simulation runs, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.simulation_runs import running, services


@shared_task(name="coterie.simulation_runs.tasks.sweep")
def sweep() -> float:
    """Find runs that nobody performs; runs all the time."""
    return services.sweep(now=timezone.now())


@shared_task(name="coterie.simulation_runs.tasks.perform")
def perform() -> None:
    """Perform runs that wait."""
    running.perform(clock=timezone.now)
