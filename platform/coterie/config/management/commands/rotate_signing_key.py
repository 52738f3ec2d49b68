"""``coterie rotate-signing-key``: sign with another key, which devices take over when they check in."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from coterie.accounts.command_line import ShellCommand
from coterie.core.errors import CoterieError
from coterie.core.identity import verify_key
from coterie.fleet.models import Device, SigningKeyChange
from coterie.fleet.signing_keys import draft_of_next_key, rotate_signing_key, use_written_key


class Command(ShellCommand):
    """Replaces the signing key."""

    help = (
        "Sign with another key. Devices take it over at their next check-in, since the present key has signed it, and "
        "need not join again. Make a backup afterwards: one with the former key is of no use for devices that followed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether the key has leaked, and where the next one goes in scaled mode."""
        super().add_arguments(parser)
        parser.add_argument(
            "--leaked",
            action="store_true",
            help="devices that have followed refuse the former key at once, instead of a day later",
        )
        parser.add_argument(
            "--to",
            type=Path,
            metavar="FILE",
            help="where COTERIE_SIGNING_KEY is set: write the next key to this new file, in hexadecimal digits",
        )

    def handle(self, *, leaked: bool, to: Path | None, as_json: bool, **_: object) -> None:
        """Replace it, and say what is left to do."""
        if bool(settings.SIGNING_KEY) != (to is not None):
            raise CommandError(
                "this platform's key is in COTERIE_SIGNING_KEY: say with --to FILE where the next one goes"
                if to is None
                else "this platform's key is in its state directory, where the next one goes too: leave --to out"
            )
        use_written_key()
        if to is None:
            self._rotate(draft_of_next_key(), is_leaked=leaked)
            use_written_key()
            key = verify_key().hex()
            sentence = f"The platform signs with the key whose public half is {key[:16]}… now."
        else:
            if to.exists():
                raise CommandError(f"{to} is there already; name a new file")
            key = self._rotate(to, is_leaked=leaked).key
            sentence = (
                f"{to} has the next key, whose public half is {key[:16]}…. Set COTERIE_SIGNING_KEY to it and "
                f"restart every process{' at once' if leaked else ' within a day'}; until then the present key signs."
            )
        enrolled = Device.objects.filter(state=Device.State.ENROLLED)
        able = enrolled.filter(capabilities__platform_key__isnull=False).count()
        unable = enrolled.count() - able
        self.report(
            {"public_key": key, "written_to": None if to is None else str(to), "following": able, "unable": unable},
            sentence,
            *_who_follows(able, unable),
            as_json=as_json,
        )

    def _rotate(self, write_to: Path, *, is_leaked: bool) -> SigningKeyChange:
        try:
            return rotate_signing_key(write_to=write_to, is_leaked=is_leaked, now=timezone.now())
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        except OSError as error:
            raise CommandError(f"cannot write {write_to}: {error.strerror}; nothing was changed") from error


def _who_follows(able: int, unable: int) -> Iterator[str]:
    """Devices, by what they have to do."""
    yield f"Devices that follow when they check in: {able}."
    if unable:
        yield (
            f"Devices that have not said that their agent can: {unable}. Those with an older agent must leave and "
            "join again; the repairs name them."
        )
