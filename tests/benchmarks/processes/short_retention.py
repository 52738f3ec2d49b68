"""The platform's own settings, with minutes where it keeps things for days: hours of a soak see what weeks would.

What is removed, and how, stays as it is; only the moment comes sooner, and files are tidied each minute.
"""

from datetime import timedelta

from django.apps import AppConfig

from coterie.config.settings import *  # noqa: F403
from coterie.config.settings import CELERY_BEAT_SCHEDULE as PLATFORM_SCHEDULE
from coterie.config.settings import INSTALLED_APPS as PLATFORM_APPS
from coterie.config.settings import PERIODIC_TASKS as PLATFORM_TASKS
from coterie.config.steady_time import every

TIDY_S = 60.0
FILES = timedelta(minutes=6)
"""Of the updates of a round that has ended; new blobs that no row names are spared for half of it."""
ROWS = timedelta(minutes=12)
"""Of events of rounds, what devices have reported, deliveries of webhooks, and history."""
ROUNDS = 20
"""The latest of a federation, whose parts devices are chosen by."""
KEEP_HISTORY_DAYS = ROWS / timedelta(days=1)

CELERY_BEAT_SCHEDULE = {
    **PLATFORM_SCHEDULE,
    **{
        name: {"task": name, "schedule": every(TIDY_S), "options": {"expires": TIDY_S}}
        for name, every_s in PLATFORM_TASKS.items()
        if every_s > TIDY_S
    },
}
INSTALLED_APPS = [*PLATFORM_APPS, "tests.benchmarks.processes.short_retention.ShortRetention"]


class ShortRetention(AppConfig):
    """Shortens what the platform has as constants, once it is set up."""

    name = "tests.benchmarks.processes"
    label = "short_retention"

    def ready(self) -> None:
        """In this process, before it does anything."""
        from coterie.fleet import observing
        from coterie.registry import collecting
        from coterie.rounds import histories, tidying
        from coterie.webhooks import delivering

        tidying.RETENTION = FILES
        collecting.GRACE = FILES / 2
        histories.LOOKBACK_ROUNDS = ROUNDS
        tidying.EVENT_RETENTION = delivering.RETENTION = observing.RETENTION = ROWS
