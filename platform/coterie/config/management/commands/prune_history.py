"""``coterie prune-history``: remove rows that only tell of the past, or say how many of each kind there are."""

import sys

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection
from django.utils import timezone

from coterie.core.pruning import count_old, prune
from coterie.core.reporting_command import ReportingCommand


class Command(ReportingCommand):
    """Removes rows that nothing needs."""

    help = (
        "Remove rows that only tell of the past, and of what ended longer ago than COTERIE_KEEP_HISTORY_DAYS says. The "
        "platform does so by itself every ten minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to remove them, and how to say it."""
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="remove nothing, and say what would be")

    def handle(self, *_args: object, dry_run: bool, as_json: bool, **_options: object) -> None:
        """Remove them, and say how many of each kind."""
        connection.ensure_connection()  # one that is away is told at once, and not by each kind of rows
        now, days = timezone.now(), settings.KEEP_HISTORY_DAYS
        pruned = count_old(now=now) if dry_run else prune(now=now, parts=sys.maxsize)
        verb = "would be removed" if dry_run else "removed"
        for_ever = () if days else ("COTERIE_KEEP_HISTORY_DAYS is 0: nothing is removed",)
        self.report(
            {"days": days, "dry_run": dry_run, "rows": [one._asdict() for one in pruned]},
            *for_ever,
            *(f"{one.name}: {one.rows} {verb}" for one in pruned),
            as_json=as_json,
        )
