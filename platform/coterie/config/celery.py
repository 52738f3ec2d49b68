"""The Celery app: threads of the server in embedded mode, processes of their own in scaled mode."""

import os

from celery import Celery, signals
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there

app = Celery("coterie")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.set_default()


@signals.task_postrun.connect
def release_connection(**_: object) -> None:
    """Close the thread's database connection."""
    close_old_connections()
