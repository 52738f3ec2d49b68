"""``coterie seed-fleet``: fill an empty platform with a fleet that looks like a real one."""

import time
from random import Random

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from coterie.core.acting import OperatorRole
from coterie.core.reporting_command import ReportingCommand
from coterie.core.separation import acting_in, acting_project
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.registry.models import ModelPair
from coterie.seeding.agents import roll_agents_out
from coterie.seeding.alliances import make_alliances
from coterie.seeding.devices import make_devices
from coterie.seeding.forecasts import forecast_rounds
from coterie.seeding.lineages import TASKS, keep, make_pair, make_troubled_jobs
from coterie.seeding.logs import make_logs
from coterie.seeding.operators import count_uses, make_alerts, make_audit_log, make_people, make_tokens, make_webhooks
from coterie.seeding.rounds import make_federation
from coterie.seeding.simulations import make_sweep
from coterie.seeding.statistics import analyze


class Command(ReportingCommand):
    """Seeds a fleet."""

    help = "Fill the platform with a fleet that looks like a real one, with weeks behind it, to look at the console."

    def add_arguments(self, parser: CommandParser) -> None:
        """How many devices, and whether beside others."""
        super().add_arguments(parser)
        parser.add_argument("--devices", type=int, default=5000, help="how many (default: %(default)s)")
        parser.add_argument("--seed", type=int, default=1, help="the same number makes the same fleet")
        parser.add_argument("--anyway", action="store_true", help="also where there are devices or pairs already")

    def handle(self, *, devices: int, seed: int, anyway: bool, as_json: bool, **_: object) -> None:
        """Make everything, and print who may sign in. Raises CommandError where a real fleet may be."""
        started = time.perf_counter()
        call_command("migrate", verbosity=0)
        if not anyway and (Device.objects.exists() or ModelPair.objects.exists()):
            raise CommandError("There are devices or pairs here already; take another --state, or say --anyway.")
        random, now = Random(seed), timezone.now()  # noqa: S311 - for looking at
        with transaction.atomic(), acting_in(acting_project()):
            people = make_people()
            tokens = make_tokens(people, now=now)
            fleet = make_devices(devices, tokens=tokens, random=random, now=now)
            count_uses(tokens)
            analyze()
            running, paused = Federation.State.RUNNING, Federation.State.PAUSED
            for task, state in zip(TASKS, (running, running, running, paused), strict=True):
                pair, dataset = make_pair(task, random=random, now=now)
                federation = make_federation(task, pair, dataset, fleet, state=state, random=random, now=now)
                forecast_rounds(federation, random=random)
            make_troubled_jobs(pair, now=now)
            make_alliances(fleet, random=Random(seed), now=now)  # noqa: S311 - for looking at
            engineer = next(person.username for person in people if person.role == OperatorRole.OPERATOR)
            make_sweep(federation, keep(b"a fleet", now), asked_by=engineer, random=random, now=now)
            make_logs(random=random, now=now)
            roll_agents_out(fleet, random=random, now=now)
            make_webhooks(random=random, now=now)
            make_alerts(random=random, now=now)
            make_audit_log(people, fleet, random=random, now=now)
        passwords = {operator.username: password for operator, password in people.items()}
        lasted_s = time.perf_counter() - started
        self.report(
            {"devices": devices, "passwords": passwords, "lasted_s": lasted_s},
            *(f"{name}   password: {password}" for name, password in passwords.items()),
            f"{devices} devices in {lasted_s:.1f} s",
            as_json=as_json,
        )
