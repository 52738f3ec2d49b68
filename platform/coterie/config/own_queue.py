"""The Celery queue of this machine, whose workers alone take tasks from it."""

from celery import Celery
from django.conf import settings

from coterie.cluster.models import queue_of


def take_from_own_queue(app: Celery) -> None:
    """Have a worker that is being set up take tasks from it besides those it was told to.

    The queues are named one by one: by default a worker would also take from whichever queue it once sent a task to.
    """
    queues = app.amqp.queues
    queues.select([*queues.consume_from, queue_of(settings.CLUSTER_HOST)])
