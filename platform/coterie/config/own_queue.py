"""The Celery queue of this machine, from which only its own workers take tasks."""

from celery import Celery
from django.conf import settings

from coterie.cluster.models import queue_of


def take_from_own_queue(app: Celery) -> None:
    """Have a worker under construction take tasks from it besides its configured queues.

    The queues are named one by one: by default a worker would also take from any queue that it once sent a task to.
    """
    queues = app.amqp.queues
    queues.select([*queues.consume_from, queue_of(settings.CLUSTER_HOST)])
