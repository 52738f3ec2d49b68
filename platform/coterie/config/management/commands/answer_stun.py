"""``coterie answer-stun``: tell devices the addresses under which others see them."""

from django.core.management.base import CommandError, CommandParser

from coterie.core.reporting_command import ReportingCommand
from coterie_wire.stun import answer_stun


class Command(ReportingCommand):
    """A STUN server that knows Binding requests and nothing else."""

    help = (
        "Tell whoever asks by UDP the address that it asks from (STUN, RFC 8489), until it is stopped; it needs "
        "neither database nor settings. Devices are told of it by COTERIE_STUN."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to answer."""
        super().add_arguments(parser)
        parser.add_argument("--host", default="0.0.0.0", help="address to listen on (%(default)s)")  # noqa: S104
        parser.add_argument("--port", type=int, default=3478, help="UDP port (%(default)s)")

    def handle(self, *_args: object, host: str, port: int, as_json: bool, **_options: object) -> None:
        """Answer. Raises CommandError where the port cannot be had."""
        self.report({"host": host, "port": port}, f"answers STUN on {host}:{port}", as_json=as_json)
        try:
            answer_stun(host, port)
        except OSError as error:
            raise CommandError(f"{host}:{port}: {error.strerror or error}") from error
