"""``coterie up``: the whole platform with one command."""

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from coterie.config.env import child_environment
from coterie.config.exclusive import ANYWHERE, StateInUse, bind, lock_state, url_of
from coterie.config.supervisor import SupervisorOptions, become_supervisor


class Command(BaseCommand):
    """Runs the platform in embedded mode."""

    help = "Run the platform in embedded mode: SQLite and files in one directory, no server to install."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen and what to tell."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)")
        parser.add_argument("--operator", default="operator", metavar="NAME", help="the first operator's name")
        parser.add_argument("--json", action="store_true", help="tell what happens as one JSON object a line")
        parser.epilog = "--state DIR, which every command takes, keeps everything in DIR (default: ./coterie-state)."

    def handle(self, *, host: str, port: int, operator: str, json: bool, **_: object) -> None:
        """Supervise the server until it is told to stop."""
        if not settings.EMBEDDED:
            raise CommandError("`up` is embedded mode; scaled mode runs uvicorn and Celery as processes of their own.")
        try:
            listener = bind(host, port)
        except OSError as error:
            raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
        try:
            lock_fd = lock_state(settings.STATE)
        except StateInUse as error:
            raise CommandError(str(error)) from error
        settings.STATE.chmod(0o700)
        hosts = [*settings.ALLOWED_HOSTS, *([] if host in ANYWHERE else [host])]
        options = SupervisorOptions(
            listener_fd=listener.fileno(),
            lock_fd=lock_fd,
            url=url_of(listener),
            state=str(settings.STATE),
            operator=operator,
            style="json" if json else "text",
        )
        environment = child_environment(state=str(settings.STATE), allowed_hosts=",".join(dict.fromkeys(hosts)))
        become_supervisor(options, environment)
