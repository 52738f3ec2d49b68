"""``coterie collect-blobs``: remove the parameters of versions that are not needed, or say how many there are."""

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from coterie.core.file_removal import removal
from coterie.core.reporting_command import ReportingCommand
from coterie.registry.strays import record_strays
from coterie.rounds.retention import collect_blobs


class Command(ReportingCommand):
    """Removes blobs that nothing needs."""

    help = (
        "Remove the bytes of blobs that nothing needs: COTERIE_KEEP_VERSIONS and COTERIE_KEEP_EVERY say which versions "
        "keep theirs. The platform does so by itself every ten minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to remove them."""
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="remove nothing, and say what would be")
        parser.add_argument(
            "--strays",
            action="store_true",
            help="first record stored files of which the database knows nothing, as after it was taken back to an "
            "earlier moment; they are removed a day later. Never where another platform keeps its files in the same "
            "place",
        )

    def handle(self, *_args: object, dry_run: bool, strays: bool, as_json: bool, **_options: object) -> None:
        """Remove them, and say how many."""
        report: dict[str, object] = {"dry_run": dry_run}
        sentences = []
        if strays:
            found = record_strays(now=timezone.now(), dry_run=dry_run)
            verb = "would be recorded, and removed" if dry_run else "are recorded, and removed"
            size = f"{found.size_bytes / 1e6:.1f} MB"
            report["strays"] = found
            sentences.append(f"{found.blobs} files of which the database knew nothing {verb} in a day: {size}")
        with removal() as allowed:
            if not allowed and not dry_run:
                raise CommandError("a backup is being made, which needs every file; try again when it has ended")
            collected = collect_blobs(now=timezone.now(), at_once=None, dry_run=dry_run)
        verb = "would be removed" if dry_run else "removed"
        sentences.append(f"{collected.blobs} blobs {verb}: {collected.size_bytes / 1e6:.1f} MB")
        self.report(report | {"collected": collected}, *sentences, as_json=as_json)
