"""``coterie prune-history``: remove parts in old rounds that came to nothing, or say how many there are."""

import sys

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from coterie.rounds.pruning import old_parts, prune_parts


class Command(BaseCommand):
    """Removes rows that nothing needs."""

    help = (
        "Remove parts in rounds that delivered nothing, whose round ended longer ago than COTERIE_KEEP_PARTS_DAYS "
        "says. The platform does so by itself every ten minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to remove them."""
        parser.add_argument("--dry-run", action="store_true", help="remove nothing, and say what would be")

    def handle(self, *_args: object, dry_run: bool, **_options: object) -> None:
        """Remove them, and say how many."""
        now = timezone.now()
        count = old_parts(now=now).count() if dry_run else prune_parts(now=now, parts=sys.maxsize)
        verb = "would be removed" if dry_run else "removed"
        self.stdout.write(f"{count} parts {verb}")
