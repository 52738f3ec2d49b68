"""``coterie scrub``: read every stored file now, and say which are damaged."""

from django.core.management.base import CommandError
from django.utils import timezone

from coterie.core.reporting_command import ReportingCommand
from coterie.registry.selectors import uses_of
from coterie.registry.verifying import scrub
from coterie.rounds.scrubbing import scrub_updates


class Command(ReportingCommand):
    """Reads all stored files."""

    help = (
        "Read every model, graph, program and data set, and every update that may still be merged, and compare it with "
        "its SHA-256. A damaged one is replaced where COTERIE_COPIES names the directory of a backup that has it; an "
        "update that is not is left out of its round. The platform reads files once a week by itself, updates once a "
        "day."
    )

    def handle(self, *_args: object, as_json: bool, **_options: object) -> None:
        """Read them. Raises CommandError where damaged ones are left."""
        blobs = scrub(now=timezone.now(), bytes_at_once=None)
        updates = scrub_updates(now=timezone.now(), bytes_at_once=None)
        if as_json:
            found = {**blobs._asdict(), "damaged": {sha256: uses_of(sha256) for sha256 in blobs.damaged}}
            self.report({**found, "updates": updates._asdict()}, as_json=True)
        else:
            for what, read in (("blobs", blobs), ("updates", updates)):
                self.stdout.write(
                    f"{read.files} {what} read, {read.size_bytes / 1e6:.1f} MB: {len(read.repaired)} replaced by a "
                    f"copy, {len(read.damaged)} damaged"
                )
            for sha256 in blobs.damaged:
                self.stdout.write(f"{sha256}: {', '.join(uses_of(sha256)) or 'nothing needs it'}")
            for sha256 in updates.damaged:
                self.stdout.write(f"{sha256}: an update")
        if blobs.damaged or updates.damaged:
            raise CommandError("name a backup in COTERIE_COPIES and repeat, or restore the files", returncode=1)
