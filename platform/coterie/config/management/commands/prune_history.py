"""``coterie prune-history``: remove rows that only tell of the past, or say how many of each kind there are."""

import json
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from coterie.core.pruning import count_old, prune


class Command(BaseCommand):
    """Removes rows that nothing needs."""

    help = (
        "Remove rows that only tell of the past, and of what ended longer ago than COTERIE_KEEP_HISTORY_DAYS says. The "
        "platform does so by itself every ten minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to remove them, and how to say it."""
        parser.add_argument("--dry-run", action="store_true", help="remove nothing, and say what would be")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print the outcome as JSON")

    def handle(self, *_args: object, dry_run: bool, as_json: bool, **_options: object) -> None:
        """Remove them, and say how many of each kind."""
        now, days = timezone.now(), settings.KEEP_HISTORY_DAYS
        pruned = count_old(now=now) if dry_run else prune(now=now, parts=sys.maxsize)
        if as_json:
            told = {"days": days, "dry_run": dry_run, "rows": [one._asdict() for one in pruned]}
            self.stdout.write(json.dumps(told, indent=2))
            return
        if not days:
            self.stdout.write("COTERIE_KEEP_HISTORY_DAYS is 0: nothing is removed")
        for one in pruned:
            self.stdout.write(f"{one.name}: {one.rows} {'would be removed' if dry_run else 'removed'}")
