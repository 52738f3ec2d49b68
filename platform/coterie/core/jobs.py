"""Work for later: declared below an app's services, performed in its tasks, sent when a transaction commits."""

from dataclasses import dataclass

from celery import current_app
from django.db import transaction

from coterie.core.tracing import traceparent


@dataclass(frozen=True)
class Job:
    """A Celery task by name, so that services never import tasks.

    A task may be lost: work that must not be lost is a row in the database, which the periodic sweep finds.
    """

    name: str

    def send(self, **arguments: str | int) -> None:
        """Enqueue once the current transaction commits; a broker that does not answer is logged and raises no error."""
        sent_by = traceparent()
        headers = None if sent_by is None else {"traceparent": sent_by}
        transaction.on_commit(lambda: current_app.send_task(self.name, kwargs=arguments, headers=headers), robust=True)
