"""Work for later: declared below an app's services, performed in its tasks, sent when a transaction commits."""

from dataclasses import dataclass

from celery import current_app
from django.db import transaction


@dataclass(frozen=True)
class Job:
    """A Celery task by name, so that services never import tasks.

    Sending is a hint: what must not be lost is a row in the database, and the periodic sweep finds it again.
    """

    name: str

    def send(self, **arguments: str | int) -> None:
        """Enqueue once the current transaction commits; a broker that does not answer is logged and fails nobody."""
        transaction.on_commit(lambda: current_app.send_task(self.name, kwargs=arguments), robust=True)
