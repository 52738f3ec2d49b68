"""Work for later: declared below an app's services, performed in its tasks, sent when a transaction commits."""

from dataclasses import dataclass

from celery import current_app
from django.db import transaction


@dataclass(frozen=True)
class Job:
    """A Celery task by name, so that services never import tasks.

    A task may be lost: work that must not be lost is a row in the database, which the periodic sweep finds.
    """

    name: str

    def send(self, **arguments: str | int) -> None:
        """Enqueue once the current transaction commits; a broker that does not answer is logged and raises no error."""
        transaction.on_commit(lambda: current_app.send_task(self.name, kwargs=arguments), robust=True)
