"""The jobs of questions, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.analytics import advancing


@shared_task(name="coterie.analytics.tasks.sweep")
def sweep() -> float:
    """Find whatever is due; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.analytics.tasks.advance_question")
def advance_question(question: str) -> None:
    """Do what a question is due for."""
    advancing.advance_question(key=UUID(question), now=timezone.now())
