"""``coterie device-authority``: the certificates by which a proxy checks devices', and the key that signs them."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from coterie.accounts.command_line import ShellCommand
from coterie.core.errors import CoterieError
from coterie.fleet.authority import (
    draft_of_next_authority,
    draw_next_authority,
    trusted_authorities,
    use_next_authority,
)

INSTALL = (
    "Let every proxy trust it before it is used: coterie device-authority > FILE, and reload them. "
    "The platform's own servers do within a minute."
)


class Command(ShellCommand):
    """Shows the authorities, or replaces the key."""

    help = (
        "Print the certificates (PEM) by which whoever ends TLS checks those of devices. "
        "--next draws the key that is to sign after the present one, and --use-next signs with it: between the two, "
        "every server learns to trust it. Certificates that the former key has signed last until they end."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which step of a rotation; none: print."""
        super().add_arguments(parser)
        step = parser.add_mutually_exclusive_group()
        step.add_argument("--next", action="store_true", help="draw the next key, and let servers trust it")
        step.add_argument("--use-next", action="store_true", help="sign with the next key from now on")
        parser.add_argument(
            "--to",
            type=Path,
            metavar="FILE",
            help="with --next where COTERIE_DEVICE_CA_KEY is set: write the key to this new file",
        )

    def handle(self, *, next: bool, use_next: bool, to: Path | None, as_json: bool, **_: object) -> None:
        """Do it, and say what is left to do."""
        if not (settings.EMBEDDED or settings.DEVICE_CA_KEY):
            raise CommandError(
                "in scaled mode all processes share one key: set COTERIE_DEVICE_CA_KEY, 64 hexadecimal digits, as of "
                "openssl rand -hex 32"
            )
        try:
            if next:
                self._draw(to, as_json=as_json)
            elif use_next:
                self._use(as_json=as_json)
            else:
                certificates = trusted_authorities(now=timezone.now())
                self.report({"certificates": certificates}, certificates.removesuffix("\n"), as_json=as_json)
        except CoterieError as error:
            raise CommandError(f"{error} [{error.code}]") from error
        except OSError as error:
            raise CommandError(f"cannot write {error.filename}: {error.strerror}; nothing was changed") from error

    def _draw(self, to: Path | None, *, as_json: bool) -> None:
        if settings.DEVICE_CA_CERTIFICATE is not None:
            raise CommandError("the authority is one of your own: replace COTERIE_DEVICE_CA_CERTIFICATE and its key")
        if bool(settings.DEVICE_CA_KEY) != (to is not None):
            raise CommandError(
                "this platform's key is in COTERIE_DEVICE_CA_KEY: say with --to FILE where the next one goes"
                if to is None
                else "this platform's key is in its state directory, where the next one goes too: leave --to out"
            )
        if to is not None and to.exists():
            raise CommandError(f"{to} is there already; name a new file")
        row = draw_next_authority(write_to=to or draft_of_next_authority(), now=timezone.now())
        then = "coterie device-authority --use-next" if to is None else f"set COTERIE_DEVICE_CA_KEY to what {to} has"
        self.report(
            {"next_public_key": row.public_key, "written_to": None if to is None else str(to)},
            f"The next key's public half is {row.public_key[:16]}…. {INSTALL}",
            f"Then: {then}.",
            as_json=as_json,
        )

    def _use(self, *, as_json: bool) -> None:
        if settings.DEVICE_CA_KEY:
            raise CommandError("this platform's key is in COTERIE_DEVICE_CA_KEY: set it to the next one and restart")
        row = use_next_authority(now=timezone.now())
        sentence = f"Certificates are signed with the key whose public half is {row.public_key[:16]}… now."
        self.report({"public_key": row.public_key}, sentence, as_json=as_json)
