"""``coterie createsuperuser``: Django's command, whose administrator the audit log tells of."""

from django.contrib.auth.management.commands import createsuperuser

from coterie.accounts.command_line import ShellCommand


class Command(ShellCommand, createsuperuser.Command):
    """Makes an administrator, whom the manager of operators records."""
