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
        self._send(arguments, queue=None, expires_s=None)

    def send_to(self, queue: str, *, expires_s: float, **arguments: str | int) -> None:
        """`send` to the workers of one queue; after `expires_s` seconds no worker performs it any more."""
        self._send(arguments, queue=queue, expires_s=expires_s)

    def _send(self, arguments: dict[str, str | int], *, queue: str | None, expires_s: float | None) -> None:
        sent_by = traceparent()
        headers = None if sent_by is None else {"traceparent": sent_by}

        def send() -> None:
            current_app.send_task(self.name, kwargs=arguments, headers=headers, queue=queue, expires=expires_s)

        transaction.on_commit(send, robust=True)
