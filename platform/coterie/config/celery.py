"""The Celery app: threads of the server in embedded mode, processes of their own in scaled mode."""

import os
import sys

import msgspec
from celery import Celery, signals
from celery.worker import WorkController
from django.conf import settings
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there

try:
    IS_EMBEDDED: bool = settings.EMBEDDED
except msgspec.ValidationError as error:
    sys.exit(f"the environment does not fit: {error} [cli.environment]")  # as `coterie` says it

app = Celery("coterie", task_cls="coterie.config.watched_task:WatchedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.set_default()


@signals.worker_init.connect
@signals.beat_init.connect
def refuse_other_schema(**_: object) -> None:
    """Exit before anything is done with tables of another version; embedded mode's server checks that itself.

    A database that does not answer ends it too: after other errors Celery goes on, with tables that were not looked at.
    """
    from coterie.config.schema import exit_unless_usable  # Django's database layer is ready only now

    if not IS_EMBEDDED:
        exit_unless_usable()


@signals.worker_init.connect
def refuse_other_files(**_: object) -> None:
    """Exit before a worker takes the platform's files for lost; a beat reads none."""
    from coterie.config.files_here import exit_unless_files_are_here  # its models need Django set up

    if not IS_EMBEDDED:
        exit_unless_files_are_here()


@signals.worker_init.connect
def watch_worker(**_: object) -> None:
    """Record a worker's sign of life; embedded mode's server does that itself."""
    from coterie.config.monitoring.begin import begin_monitoring  # its models need Django set up
    from coterie.config.tracing import begin_tracing

    if not IS_EMBEDDED:
        begin_monitoring("task", leads=lambda: False)
        begin_tracing("worker")


@signals.beat_init.connect
def watch_beat(**_: object) -> None:
    """The same for a scheduler, which exports the platform's figures while it is the active one."""
    from coterie.config.leader import LEADERSHIP
    from coterie.config.monitoring.begin import begin_monitoring

    if not IS_EMBEDDED:
        begin_monitoring("tick", leads=LEADERSHIP.found)


@signals.celeryd_after_setup.connect
def take_tasks_of_this_host(instance: WorkController, **_: object) -> None:
    """Take the tasks of this host's own queue, from which other hosts' workers take none."""
    from coterie.config.own_queue import take_from_own_queue  # its models need Django set up

    take_from_own_queue(instance.app)


@signals.worker_ready.connect
def register_this_host(**_: object) -> None:
    """Register this machine for workers of training jobs as long as a Celery worker runs on it."""
    from coterie.cluster.this_host import Presence

    Presence().begin()


@signals.task_postrun.connect
def release_connection(**_: object) -> None:
    """Close the thread's database connection."""
    close_old_connections()
