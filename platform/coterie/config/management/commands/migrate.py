"""Django's command, for tables from which this version can go on."""

from django.core.management import CommandError
from django.core.management.commands import migrate

from coterie.config.schema import OtherSchema, refuse_other


class Command(migrate.Command):
    def handle(self, *args: object, **options: object) -> None:
        try:
            refuse_other()
        except OtherSchema as error:
            raise CommandError(str(error)) from error
        super().handle(*args, **options)
