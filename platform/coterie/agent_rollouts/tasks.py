"""The periodic work of roll-outs of the agent, as Celery performs it."""

from celery import shared_task
from django.utils import timezone

from coterie.agent_rollouts import advancing


@shared_task(name="coterie.agent_rollouts.tasks.advance")
def advance() -> float:
    """Ask further devices, begin next phases or roll back; runs every few seconds."""
    return advancing.advance_agent_rollouts(now=timezone.now())
