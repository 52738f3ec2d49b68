"""``coterie doctor``: look at everything that a platform needs, from where this runs."""

import logging

from django.core.management.base import CommandError

from coterie.config.doctor import Finding, examine
from coterie.core.reporting_command import ReportingCommand

MARKS = {"fine": "ok     ", "warning": "warning", "wrong": "WRONG  "}


class Command(ReportingCommand):
    """Examines the platform."""

    help = (
        "Look at settings, database, tables, broker, storage, periodic work, stored files, room and confinement, as "
        "this process sees them. Exits with 1 where something is wrong; a probe of the storage is all that is written."
    )
    requires_system_checks = []

    def handle(self, *_args: object, as_json: bool, **_options: object) -> None:
        """Examine it. Raises CommandError where something is wrong."""
        for repeated in ("psycopg.pool", "coterie.core.away"):  # the findings say it
            logging.getLogger(repeated).setLevel(logging.ERROR)
        found: list[Finding] = []
        for finding in examine():
            found.append(finding)
            if not as_json:
                self.stdout.write(f"{MARKS[finding.state]}  {finding.about}: {finding.says}")
        if as_json:
            self.report([finding._asdict() for finding in found], as_json=True)
        wrong = sum(finding.state == "wrong" for finding in found)
        if wrong:
            raise CommandError(f"{wrong} found wrong; docs/runbooks says what to do", returncode=1)
