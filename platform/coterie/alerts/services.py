"""Changes to channels and rules, and the sweep that makes notices of what rules find."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django.conf import settings
from django.db import IntegrityError, transaction

from coterie.alerts.bundling import bundle_all
from coterie.alerts.errors import (
    BadChannel,
    BadRule,
    ChannelInUse,
    ChannelNameTaken,
    ChannelPaused,
    NoMailServer,
    RuleNameTaken,
)
from coterie.alerts.evaluating import evaluate_rules
from coterie.alerts.jobs import SEND
from coterie.alerts.models import Channel, Incident, Message, Notice, Rule, Severity
from coterie.alerts.sending import MESSAGES, RETENTION
from coterie.alerts.wording import TEST
from coterie.audit.recording import audited, check_permitted
from coterie.core.names import checked_name
from coterie.core.separation import check_together
from coterie.federations.models import Federation
from coterie.webhooks.addresses import resolve
from coterie.webhooks.outgoing import AT_ONCE
from coterie.webhooks.signing import new_secret

Given = Mapping[str, object]
"""Columns by name, as a request gives them; omitted ones do not change."""


class NewChannel(NamedTuple):
    """A channel and, for a webhook, the secret that signs its messages, which is shown only this once."""

    channel: Channel
    secret: str


def create_channel(
    *,
    name: str,
    kind: Channel.Kind,
    recipients: Sequence[str] = (),
    url: str = "",
    quiet_from: time | None = None,
    quiet_until: time | None = None,
    time_zone: str = "UTC",
    now: datetime,
) -> NewChannel:
    """Create a channel. Raises ChannelNameTaken, BadChannel, NoMailServer, AddressRefused or BadName."""
    check_permitted("alerts.create_channel")
    channel = Channel(
        name=checked_name(name),
        kind=kind,
        recipients=list(recipients),
        url=url,
        quiet_from=quiet_from,
        quiet_until=quiet_until,
        time_zone=time_zone,
        secret=new_secret() if kind == Channel.Kind.WEBHOOK else "",
        created_at=now,
    )
    _check_channel(channel)  # no transaction waits for a name server
    return _keep_channel(channel=channel)


@audited("alerts.create_channel")
def _keep_channel(*, channel: Channel) -> NewChannel:
    try:
        with transaction.atomic():
            channel.save(force_insert=True)
    except IntegrityError as error:
        raise ChannelNameTaken(name=channel.name) from error
    return NewChannel(channel, channel.secret)


def change_channel(*, channel: Channel, given: Given) -> None:
    """Change its recipients or quiet hours, or pause it. Raises BadChannel, NoMailServer or AddressRefused."""
    check_permitted("alerts.change_channel")
    for name in given:
        setattr(channel, name, given[name])
    if given.keys() - {"is_active"}:
        _check_channel(channel)
    _set_channel(channel=channel, columns=(*given, "place") if "url" in given else tuple(given))


@audited("alerts.change_channel", subject="channel")
def _set_channel(*, channel: Channel, columns: Sequence[str]) -> None:
    channel.save(update_fields=list(columns))
    if not channel.is_active:
        channel.notices.filter(message=None).delete()


@audited("alerts.remove_channel", subject="channel")
def remove_channel(*, channel: Channel) -> None:
    """Remove it with its log. Raises ChannelInUse."""
    Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
    rules = [rule.name for rule in Rule.objects.all() if channel.pk in rule.channels]
    if rules:
        raise ChannelInUse(name=channel.name, rules=", ".join(rules))
    channel.delete()


@audited("alerts.try_channel")
def try_channel(*, channel: Channel, now: datetime) -> Notice:
    """Send a test message at once, quiet hours or not. Raises ChannelPaused."""
    if not channel.is_active:
        raise ChannelPaused(name=channel.name)
    message = Message.objects.create(channel=channel, created_at=now, next_at=now)
    notice = Notice.objects.create(
        channel=channel,
        message=message,
        change=Notice.Change.TEST,
        severity=Severity.WARNING,
        sentence=TEST,
        created_at=now,
    )
    SEND.send(channel=channel.pk)
    return notice


@audited("alerts.create_rule")
def create_rule(
    *,
    name: str,
    kind: Rule.Kind,
    channels: Sequence[int],
    code: str = "",
    least: str = Severity.WARNING,
    severity: str = Severity.WARNING,
    federation: Federation | None = None,
    threshold: float | None = None,
    now: datetime,
) -> Rule:
    """Create a rule. Raises RuleNameTaken, BadRule or BadName."""
    rule = Rule(
        name=checked_name(name),
        kind=kind,
        channels=list(channels),
        code=code,
        least=least,
        severity=severity,
        federation=federation,
        threshold=threshold,
        created_at=now,
    )
    _check_rule(rule)
    try:
        with transaction.atomic():
            rule.save(force_insert=True)
    except IntegrityError as error:
        raise RuleNameTaken(name=name) from error
    return rule


@audited("alerts.change_rule", subject="rule")
def change_rule(*, rule: Rule, given: Given) -> None:
    """Change what is watched for or who is notified, or pause it. Raises BadRule."""
    for name in given:
        setattr(rule, name, given[name])
    _check_rule(rule)
    rule.save(update_fields=list(given))


@audited("alerts.remove_rule", subject="rule")
def remove_rule(*, rule: Rule) -> None:
    """Remove it; its notices stay in the log."""
    rule.delete()


def sweep(*, now: datetime) -> None:
    """Evaluate all rules, send what is due, whatever messages were lost, and delete what is old."""
    evaluate_rules(now=now)
    bundle_all(now=now)
    with transaction.atomic():
        for channel_id in MESSAGES.waiting(now=now):
            SEND.send(channel=channel_id)
    MESSAGES.delete_old(before=now - RETENTION)
    old = Incident.objects.filter(resolved_at__lt=now - RETENTION)
    Incident.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:AT_ONCE])).delete()


def _check_channel(channel: Channel) -> None:
    if channel.time_zone not in available_timezones():
        raise BadChannel(problem=f"{channel.time_zone!r} is no time zone, such as Europe/Berlin")
    if (channel.quiet_from is None) != (channel.quiet_until is None):
        raise BadChannel(problem="quiet hours need a beginning and an end")
    if channel.quiet_from is not None and channel.quiet_from == channel.quiet_until:
        raise BadChannel(problem="its quiet hours end when they begin")
    if channel.kind == Channel.Kind.EMAIL:
        if not settings.EMAIL_HOST:
            raise NoMailServer
        if not channel.recipients or channel.url:
            raise BadChannel(problem="e-mail has recipients, and no URL")
        return
    if not channel.url or channel.recipients:
        raise BadChannel(problem=f"{channel.get_kind_display()} has a URL, and no recipients")
    resolve(channel.url, allowed_hosts=settings.WEBHOOK_HOSTS)
    channel.place = f"{urlsplit(channel.url).hostname} · {sha256(channel.url.encode()).hexdigest()[:8]}"


def _check_rule(rule: Rule) -> None:
    """Raises BadRule. The channels are locked meanwhile, so that none of them is removed."""
    known = Channel.objects.select_for_update(no_key=True).filter(pk__in=rule.channels)
    if not known or {channel.pk for channel in known} != set(rule.channels):
        raise BadRule(problem="it needs channels, and only such as there are")
    check_together(rule, rule.federation, *known)
    compares = rule.kind in Rule.COMPARING
    if compares != (rule.threshold is not None):
        raise BadRule(problem=f"{rule.kind} {'needs a' if compares else 'has no'} threshold")
    shares = (Rule.Kind.ACCURACY_BELOW, Rule.Kind.ONLINE_BELOW)
    if rule.threshold is not None and not 0 < rule.threshold <= (1 if rule.kind in shares else 1e6):
        raise BadRule(problem="a threshold is positive, and a share at most 1")
    if rule.code and rule.kind != Rule.Kind.REPAIR:
        raise BadRule(problem=f"{rule.kind} has no code of repairs")
    if rule.federation_id is not None and rule.kind in (Rule.Kind.REPAIR, Rule.Kind.JOB_FAILED):
        raise BadRule(problem=f"{rule.kind} is of the whole platform, not of a federation")
