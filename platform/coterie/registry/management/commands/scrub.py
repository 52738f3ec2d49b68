"""``coterie scrub``: read every blob now, and say which are damaged."""

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from coterie.registry.selectors import uses_of
from coterie.registry.verifying import scrub


class Command(BaseCommand):
    """Reads all blobs."""

    help = (
        "Read every model, graph, program and data set, and compare it with its SHA-256. A damaged one is replaced "
        "where COTERIE_COPIES names the directory of a backup that has it. The platform reads each by itself once a "
        "week."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """How to print."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print what was found as JSON")

    def handle(self, *_args: object, as_json: bool, **_options: object) -> None:
        """Read them. Raises CommandError where damaged ones are left."""
        found = scrub(now=timezone.now(), bytes_at_once=None)
        if as_json:
            told = {**found._asdict(), "damaged": {sha256: uses_of(sha256) for sha256 in found.damaged}}
            self.stdout.write(msgspec.json.encode(told).decode())
        else:
            self.stdout.write(
                f"{found.blobs} blobs read, {found.size_bytes / 1e6:.1f} MB: {len(found.repaired)} replaced by a copy, "
                f"{len(found.damaged)} damaged"
            )
            for sha256 in found.damaged:
                self.stdout.write(f"{sha256}: {', '.join(uses_of(sha256)) or 'nothing needs it'}")
        if found.damaged:
            raise CommandError("name a backup in COTERIE_COPIES and repeat, or restore the files", returncode=1)
