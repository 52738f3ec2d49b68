"""The jobs of evaluations, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.fleet_evaluation import advancing


@shared_task(name="coterie.fleet_evaluation.tasks.sweep")
def sweep() -> float:
    """Find the evaluations that are due; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.fleet_evaluation.tasks.advance")
def advance(evaluation: str) -> None:
    """Advance an evaluation as far as it goes."""
    advancing.advance_evaluation(evaluation_id=UUID(evaluation), now=timezone.now())
