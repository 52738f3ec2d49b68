"""The operators of the seeded fleet: one person of each role, their tokens, and their entries in the audit log."""

import uuid
from dataclasses import replace
from datetime import datetime, time, timedelta
from random import Random

from coterie.accounts.models import Operator
from coterie.accounts.roles import actor_of
from coterie.accounts.services import create_operator, issue_token, save_filter
from coterie.alerts.models import Channel, Incident, Message, Notice, Rule
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole, Scope, acting_as
from coterie.core.separation import acting_project, project_of
from coterie.federations.models import Federation
from coterie.fleet.models import Device, EnrolmentToken
from coterie.fleet.services import create_enrolment_token
from coterie.seeding.devices import SITES
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie.webhooks.outgoing import MAX_ATTEMPTS
from coterie.webhooks.signing import new_secret

ENTRIES = 180


def make_people() -> dict[Operator, str]:
    """One of each role, with their passwords."""
    return dict(create_operator(username=role.value, role=role) for role in OperatorRole)


def make_tokens(people: dict[Operator, str], *, now: datetime) -> dict[str, EnrolmentToken]:
    """API tokens of programs, and an enrolment token for each kind of site."""
    administrator = next(operator for operator in people if operator.role == OperatorRole.ADMINISTRATOR)
    with acting_as(replace(actor_of(administrator), project=acting_project())):
        issue_token(operator=administrator, name="dashboards", scopes=[Scope.READ], now=now)
        issue_token(
            operator=administrator,
            name="continuous integration",
            scopes=[Scope.READ, Scope.MODELS],
            expires_at=now + timedelta(days=60),
            now=now,
        )
        long_ago = now - timedelta(days=100)
        issue_token(
            operator=administrator,
            name="pilot's spreadsheet",
            scopes=[Scope.READ],
            expires_at=now - timedelta(days=10),
            now=long_ago,
        )
        _spend_tokens(now=now)
        save_filter(operator=administrator, table="devices", name="Too hot", query={"reason": "conditions.too_hot"})
        save_filter(operator=administrator, table="devices", name="Gone silent", query={"status": "absent"})
        return {
            site.tag: create_enrolment_token(
                label=f"{site.tag}s, autumn",
                uses_allowed=100_000,
                expires_at=now + timedelta(days=45),
                tags=[site.tag],
                now=now,
            ).token
            for site in SITES
        }


def _spend_tokens(*, now: datetime) -> None:
    """Enrolment tokens that are no longer valid: used up, expired, withdrawn."""
    for label, uses, expires_in_days, withdrawn in (
        ("pilot in Lyon", 20, 30, False),
        ("trade fair", 7, -25, False),
        ("installers' laptop", 3, 60, True),
    ):
        token = create_enrolment_token(
            label=label,
            uses_allowed=20,
            expires_at=now + timedelta(days=expires_in_days),
            tags=["pilot"],
            now=now - timedelta(days=70),
        ).token
        token.uses = uses
        token.revoked_at = now - timedelta(days=12) if withdrawn else None
        token.save(update_fields=["uses", "revoked_at"])


def make_webhooks(*, random: Random, now: datetime) -> None:
    """Two webhooks, and the log of their deliveries."""
    for name, events, failing in (
        ("on-call channel", [Event.JOB_FAILED, Event.DEVICE_DRIFTED], 0.04),
        ("model catalogue", [Event.ROUND_PUBLISHED, Event.ROLLOUT_ENDED], 0.3),
    ):
        webhook = Webhook.objects.create(
            name=name,
            url=f"https://{name.replace(' ', '-')}.example/coterie",
            events=sorted(events),
            secret=f"cow_{random.getrandbits(256):064x}",
            is_active=failing < 0.1,
            created_at=now - timedelta(days=40),
        )
        Delivery.objects.bulk_create(
            _delivery(webhook, random.choice(events), random.random() < failing, random, now) for _ in range(30)
        )


def _delivery(webhook: Webhook, event: Event, failed: bool, random: Random, now: datetime) -> Delivery:
    created_at = now - timedelta(days=random.triangular(0, 29, 1))
    delivery = Delivery(
        id=uuid.UUID(int=random.getrandbits(128), version=4),
        webhook=webhook,
        event=event,
        state=Delivery.State.FAILED if failed else Delivery.State.DELIVERED,
        attempts=MAX_ATTEMPTS if failed else 1,
        status=503 if failed else 204,
        problem="it answered 503" if failed else "",
        created_at=created_at,
        ended_at=created_at + timedelta(seconds=1),
    )
    delivery.body = {"id": str(delivery.pk), "event": event.value, "at": created_at.isoformat()}
    return delivery


def make_alerts(*, random: Random, now: datetime) -> None:
    """Three channels, four rules, and what these have found and told in the last weeks."""
    made_at = now - timedelta(days=40)
    common = {"time_zone": "Europe/Berlin", "secret": new_secret(), "created_at": made_at}
    chat = {"url": "https://chat.example/on-call", "place": "chat.example · 9f2c41d7"}
    mail = {"recipients": ["models@example.org", "ada@example.org"], "quiet_from": time(22), "quiet_until": time(7)}
    tickets = {"url": "https://tickets.example/", "place": "tickets.example · 03b7e6aa"}
    channels = [
        Channel.objects.create(name=name, kind=kind, **terms, **common)
        for name, kind, terms in (
            ("on call", "slack", chat),
            ("model team", "email", mail),
            ("ticket system", "webhook", tickets),
        )
    ]
    keys = [channel.pk for channel in channels]
    for name, kind, told, terms, found in (
        ("any error", "repair", keys[::2], {"least": "error"}, "The last 3 rounds of vending were abandoned."),
        ("jobs", "job_failed", keys[:1], {}, "The distillation of kiosk-vision failed: it took too much memory."),
        ("half the fleet", "online_below", keys[:1], {"threshold": 0.5}, "47 of 120 devices of the fleet are online."),
        ("accuracy", "accuracy_below", keys[1:2], {"threshold": 0.8}, "The champion of vending is 78.4% accurate."),
    ):
        rule = Rule.objects.create(name=name, kind=kind, channels=told, created_at=made_at, looked_at=now, **terms)
        for _ in range(4):
            _incident(rule, found, [channel for channel in channels if channel.pk in told], random, now)


def _incident(rule: Rule, sentence: str, channels: list[Channel], random: Random, now: datetime) -> None:
    """One that is over, with what each channel was told of it; the webhook often did not answer."""
    began_at = now - timedelta(days=random.triangular(0.2, 29, 2))
    ended_at = began_at + timedelta(minutes=random.randint(2, 200))
    incident = Incident.objects.create(
        rule=rule, key=sentence, severity="error", sentence=sentence, began_at=began_at, resolved_at=ended_at
    )
    for channel in channels:
        for change, at in ((Notice.Change.FIRING, began_at), (Notice.Change.RESOLVED, ended_at)):
            failed = channel.kind == "webhook" and random.random() < 0.4
            message = Message.objects.create(
                id=uuid.UUID(int=random.getrandbits(128), version=4),
                channel=channel,
                state=Message.State.FAILED if failed else Message.State.DELIVERED,
                attempts=MAX_ATTEMPTS if failed else 1,
                problem="it answered with status 503" if failed else "",
                created_at=at,
                ended_at=at + timedelta(seconds=1),
            )
            Notice.objects.create(
                incident=incident,
                channel=channel,
                message=message,
                rule_name=rule.name,
                change=change,
                severity="error",
                sentence=sentence,
                created_at=at,
            )


def count_uses(tokens: dict[str, EnrolmentToken]) -> None:
    """As many devices have joined with each as there are."""
    for token in tokens.values():
        token.uses = Device.objects.filter(enrolled_with=token).count()
        token.save(update_fields=["uses"])


def make_audit_log(people: dict[Operator, str], devices: list[Device], *, random: Random, now: datetime) -> None:
    """What the people did in the last weeks, oldest first."""
    working = [operator for operator in people if operator.role != OperatorRole.VIEWER]
    federations = list(Federation.objects.all())
    moments = sorted(now - timedelta(days=random.triangular(0, 55, 3)) for _ in range(ENTRIES))
    Entry.objects.bulk_create(_entry(random, at, random.choice(working), devices, federations) for at in moments)


def _entry(
    random: Random, at: datetime, operator: Operator, devices: list[Device], federations: list[Federation]
) -> Entry:
    device, federation = random.choice(devices), random.choice(federations)
    moment = at.isoformat()
    action, row, before, after = random.choices(
        [
            ("fleet.change_device", device, {"tags": device.tags[:1]}, {"tags": device.tags}),
            ("fleet.pause_device", device, {"paused_at": None}, {"paused_at": moment}),
            ("fleet.resume_device", device, {"paused_at": moment}, {"paused_at": None}),
            (
                "fleet.revoke_device",
                device,
                {"state": "enrolled", "ended_at": None},
                {"state": "revoked", "ended_at": moment},
            ),
            ("federations.pause_federation", federation, {"state": "running"}, {"state": "paused"}),
            ("federations.start_federation", federation, {"state": "paused"}, {"state": "running"}),
            ("accounts.sign_in", operator, {}, {"signed_in": True}),
        ],
        [6, 3, 3, 1, 1, 1, 5],
    )[0]
    return Entry(
        at=at,
        actor_kind=Entry.ActorKind.PERSON,
        actor_id=str(operator.pk),
        actor_name=operator.username,
        address="192.0.2.17",
        project_id=project_of(row),
        action=action,
        subject_kind=row._meta.label_lower,
        subject_id=str(row.pk),
        subject_name=str(row),
        before=before,
        after=after,
    )
