"""Django's command, for tables from which this version can go on."""

import sys

from django.core.management import CommandError
from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from coterie.config.schema import OtherSchema, changes_to_make, refuse_other
from coterie.core.reporting_command import ReportingCommand


class Command(ReportingCommand, migrate.Command):
    """Changes tables, or says how they would be changed."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's, and how to print."""
        super().add_arguments(parser)
        migrate.Command.add_arguments(self, parser)

    def handle(self, *args: object, **options: object) -> None:
        """Raises CommandError where this version cannot go on from the tables that there are."""
        try:
            refuse_other()
        except OtherSchema as error:
            raise CommandError(str(error)) from error
        if not options["as_json"]:
            migrate.Command.handle(self, *args, **options)
            return
        if options["app_label"]:
            raise CommandError("--json tells of all apps; name none")
        missing = _missing(str(options["database"]))
        only_looks = bool(options["plan"] or options["check_unapplied"])
        if not only_looks:
            migrate.Command.handle(self, *args, **options | {"verbosity": 0})
        self.report({"applied": not only_looks, "migrations": missing}, as_json=True)
        if options["check_unapplied"] and missing:
            sys.exit(1)


def _missing(database: str) -> list[str]:
    """Migrations that the tables lack, in their order: ``fleet.0002_names``."""
    return [f"{app}.{name}" for app, name in changes_to_make(database)]
