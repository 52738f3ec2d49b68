"""Each incident is told once when it begins and once when it is over; never in quiet hours, and never in storms."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from django.core.mail import EmailMessage
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings
from standardwebhooks import Webhook as Verifier

from coterie.alerts.bundling import MESSAGES_AN_HOUR, NOTICES_A_MESSAGE, bundle, bundle_all
from coterie.alerts.errors import (
    BadChannel,
    BadRule,
    ChannelInUse,
    ChannelNameTaken,
    ChannelPaused,
    NoMailServer,
    RuleNameTaken,
)
from coterie.alerts.evaluating import apply, changes
from coterie.alerts.mailing import send_mail
from coterie.alerts.models import Channel, Incident, Message, Notice, Rule
from coterie.alerts.quiet import QuietHours
from coterie.alerts.sending import RETENTION, send_next
from coterie.alerts.services import (
    change_channel,
    change_rule,
    create_channel,
    create_rule,
    remove_channel,
    remove_rule,
    sweep,
    try_channel,
)
from coterie.alerts.watching import Sighting, Situation, sightings
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.fleet.models import Device
from coterie.registry.models import ModelPair, ModelVersion
from coterie.repairs.services import mute_repair
from coterie.rounds.models import Round
from coterie.webhooks.calling import call as call_for_real
from coterie.webhooks.errors import AddressRefused
from coterie.webhooks.outgoing import FIRST_PAUSE_S, LEASE, MAX_ATTEMPTS
from tests.coterie.alerts.receivers import MailServer, WebServer, serving
from tests.coterie.world import START, fleet_of, later, make_dataset, make_federation, make_pair, make_version
from tests.examples import examples

pytestmark = pytest.mark.django_db
URL = "https://198.51.100.7/hook"
MINUTE = 60.0


@pytest.fixture
def channel(settings: Settings) -> Channel:
    settings.WEBHOOK_HOSTS = ("198.51.100.7", "127.0.0.1")
    return create_channel(name="on call", kind=Channel.Kind.WEBHOOK, url=URL, now=START).channel


@pytest.fixture
def rule(channel: Channel) -> Rule:
    return create_rule(name="faults", kind=Rule.Kind.REPAIR, channels=[channel.pk], now=START)


def saw(*keys: str) -> list[Sighting]:
    return [Sighting(key, "error", f"{key} is wrong.", "") for key in keys]


def look(rule: Rule, seconds: float, *keys: str) -> None:
    apply(rule_id=rule.pk, seen=saw(*keys), now=later(seconds))
    bundle_all(now=later(seconds))


def log() -> list[tuple[str, str]]:
    return list(Notice.objects.order_by("pk").values_list("change", "incident__key"))


Sent = list[tuple[bytes, Mapping[str, str]]]


def answering(*statuses: int | Exception) -> tuple[Callable[..., int], Sent]:
    sent: Sent = []
    left = list(statuses)

    def called(_url: str, body: bytes, headers: Mapping[str, str]) -> int:
        sent.append((body, headers))
        answer = left.pop(0) if left else 204
        if isinstance(answer, Exception):
            raise answer
        return answer

    return called, sent


def send_all(channel: Channel, seconds: float) -> Sent:
    called, sent = answering()
    while send_next(channel_id=channel.pk, clock=lambda: later(seconds), call=called, mail=send_mail):
        pass
    return sent


def told(sent: Sent) -> list[list[str]]:
    return [[f"{one['change']} {one['sentence']}" for one in json.loads(body)["notices"]] for body, _ in sent]


# What begins and ends


def test_an_incident_is_told_once_and_again_when_it_is_over(rule: Rule, channel: Channel) -> None:
    for second in range(3):
        look(rule, second, "disk")
    look(rule, 10)
    look(rule, 11)
    assert log() == [("firing", "disk"), ("resolved", "disk")]
    assert told(send_all(channel, 20)) == [["firing disk is wrong."], ["resolved disk is wrong."]]
    look(rule, 30, "disk")
    assert len(log()) == 3


def test_what_is_uncertain_begins_nothing_and_ends_nothing(rule: Rule) -> None:
    unsure = [Sighting("disk", "error", "?", "", is_certain=False)]
    apply(rule_id=rule.pk, seen=unsure, now=later(0))
    assert log() == []
    look(rule, 1, "disk")
    apply(rule_id=rule.pk, seen=unsure, now=later(2))
    assert log() == [("firing", "disk")]


def test_a_look_that_was_overtaken_changes_nothing(rule: Rule) -> None:
    look(rule, 10, "disk")
    apply(rule_id=rule.pk, seen=[], now=later(5))
    assert log() == [("firing", "disk")]
    apply(rule_id=rule.pk, seen=[], now=later(-7 * 24 * 3600))  # the clock was set back
    assert log() == [("firing", "disk"), ("resolved", "disk")]


def test_a_rule_that_is_paused_or_gone_sees_nothing(rule: Rule) -> None:
    change_rule(rule=rule, given={"is_active": False})
    look(rule, 0, "disk")
    key = rule.pk
    remove_rule(rule=rule)
    apply(rule_id=key, seen=saw("disk"), now=later(1))
    assert log() == []


@given(st.sets(st.integers(0, 5)), st.dictionaries(st.integers(0, 5), st.booleans()))
def test_the_law_of_changes(open_: set[int], seen: dict[int, bool]) -> None:
    found = [Sighting(str(key), "error", "", "", is_certain=sure) for key, sure in seen.items()]
    begin, end = changes({str(key) for key in open_}, found)
    after = ({str(key) for key in open_} | {one.key for one in begin}) - set(end)
    certain, unsure = ({str(key) for key, sure in seen.items() if sure is wanted} for wanted in (True, False))
    assert after - unsure == certain
    assert after & unsure == {str(key) for key in open_} & unsure
    assert changes(after, found) == ((), ())


# Quiet hours


@given(st.times(), st.times(), st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)))
def test_quiet_hours_and_the_others_are_a_day(begin: time, end: time, at: datetime) -> None:
    zone = ZoneInfo("Europe/Berlin")
    if begin != end:
        assert QuietHours(begin, end, zone).at(at) is not QuietHours(end, begin, zone).at(at)


def test_quiet_hours_go_by_the_clocks_of_their_zone() -> None:
    hours = QuietHours(time(22), time(7), ZoneInfo("Europe/Berlin"))
    assert hours.at(datetime(2026, 1, 1, 5, 59, tzinfo=UTC))  # winter: one hour ahead
    assert not hours.at(datetime(2026, 1, 1, 6, 0, tzinfo=UTC))
    assert not hours.at(datetime(2026, 7, 1, 5, 0, tzinfo=UTC))  # summer: two
    assert hours.at(datetime(2026, 7, 1, 20, 0, tzinfo=UTC))


def test_what_happens_in_quiet_hours_is_sent_together_afterwards(rule: Rule, channel: Channel) -> None:
    # START is noon in UTC, 13:00 in Berlin.
    change_channel(
        channel=channel, given={"quiet_from": time(12, 30), "quiet_until": time(14), "time_zone": "Europe/Berlin"}
    )
    look(rule, 0, "disk", "redis")
    look(rule, 60, "redis")
    assert send_all(channel, 59 * MINUTE) == []
    bundle_all(now=later(60 * MINUTE))
    (message,) = told(send_all(channel, 60 * MINUTE))
    assert message == ["firing disk is wrong.", "firing redis is wrong.", "resolved disk is wrong."]
    assert set(Notice.objects.values_list("message__state", flat=True)) == {"delivered"}


# Storms


def test_what_comes_at_once_is_one_message(rule: Rule, channel: Channel) -> None:
    look(rule, 0, *(f"device {number}" for number in range(NOTICES_A_MESSAGE)))
    (message,) = told(send_all(channel, 1))
    assert len(message) == NOTICES_A_MESSAGE


@pytest.mark.long
def test_what_flaps_is_held_and_then_sent_together(rule: Rule, channel: Channel) -> None:
    for minute in range(30):
        look(rule, minute * MINUTE, *(["disk"] if minute % 2 else []))
    assert len(send_all(channel, 31 * MINUTE)) == MESSAGES_AN_HOUR
    bundle_all(now=later(62 * MINUTE))
    (rest,) = told(send_all(channel, 62 * MINUTE))
    assert len(rest) == 29 - MESSAGES_AN_HOUR


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(8, 30))
@given(
    steps=st.lists(st.tuples(st.integers(1, 240), st.sets(st.sampled_from("abc"))), max_size=12),
    quiet=st.one_of(st.none(), st.tuples(st.integers(0, 23), st.integers(0, 23)).filter(lambda two: two[0] != two[1])),
)
def test_whatever_happens_all_is_told_once_in_order_and_at_a_time_to_tell(
    rule: Rule, channel: Channel, steps: list[tuple[int, set[str]]], quiet: tuple[int, int] | None
) -> None:
    """Incidents come and go over hours: messages keep out of quiet hours, and in the end hold each change once."""
    with transaction.atomic():
        hours = {} if quiet is None else {"quiet_from": time(quiet[0]), "quiet_until": time(quiet[1])}
        Channel.objects.filter(pk=channel.pk).update(**hours)
        minute, expected, open_ = 0, [], set()
        for pause, seen in [*steps, (1, set())]:
            minute += pause
            look(rule, minute * MINUTE, *sorted(seen))
            expected += [("firing", key) for key in sorted(seen - open_)]
            expected += [("resolved", key) for key in sorted(open_ - seen)]
            open_ = set(seen)
        for _ in range(26):
            minute += 60
            bundle_all(now=later(minute * MINUTE))
        fresh = Channel.objects.get(pk=channel.pk)
        silence = fresh.quiet_hours()
        messages = list(Message.objects.order_by("created_at"))
        assert silence is None or not any(silence.at(message.created_at) for message in messages)
        for begin in messages:
            within = [
                one for one in messages if begin.created_at <= one.created_at < begin.created_at + timedelta(hours=1)
            ]
            assert len(within) <= MESSAGES_AN_HOUR
        sent = [
            (notice.change, notice.incident.key)
            for message in messages
            for notice in message.notices.order_by("created_at", "pk").select_related("incident")
            if notice.incident is not None
        ]
        assert sorted(sent) == sorted(expected)
        for key in "abc":
            one = [change for change, about in sent if about == key]
            assert one == ["firing", "resolved"] * (len(one) // 2)
        transaction.set_rollback(True)


# Kills


def test_a_worker_that_dies_while_it_sends_delays_a_message_which_keeps_its_id(rule: Rule, channel: Channel) -> None:
    look(rule, 0, "disk")
    called, first = answering(MemoryError())
    with pytest.raises(MemoryError):
        send_next(channel_id=channel.pk, clock=lambda: later(0), call=called, mail=send_mail)
    assert send_all(channel, LEASE.total_seconds() - 1) == []
    again = send_all(channel, LEASE.total_seconds())
    assert [headers["webhook-id"] for _, headers in (*first, *again)] == [str(Message.objects.get().pk)] * 2
    assert log() == [("firing", "disk")]


def test_a_kill_in_the_midst_of_a_look_leaves_it_undone(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Notice, "__init__", die)  # after the incident was written
        with pytest.raises(MemoryError):
            apply(rule_id=rule.pk, seen=saw("disk"), now=later(0))
    assert (log(), Incident.objects.count()) == ([], 0)
    look(rule, 1, "disk")
    assert log() == [("firing", "disk")]


def test_a_kill_between_look_and_message_loses_nothing(rule: Rule, channel: Channel) -> None:
    apply(rule_id=rule.pk, seen=saw("disk"), now=later(0))
    sweep(now=later(1))  # whose own look finds no fault
    assert told(send_all(channel, 2)) == [["firing disk is wrong.", "resolved disk is wrong."]]


def test_what_does_not_arrive_is_tried_again_and_given_up_and_the_log_says_why(rule: Rule, channel: Channel) -> None:
    look(rule, 0, "disk")
    called, _ = answering(*[TimeoutError()] * MAX_ATTEMPTS)
    for _ in range(MAX_ATTEMPTS):
        due = Message.objects.get().next_at
        assert due is not None
        assert send_next(channel_id=channel.pk, clock=partial(due.replace, tzinfo=UTC), call=called, mail=send_mail)
    message = Message.objects.get()
    assert (message.state, message.problem) == ("failed", "it took too long to answer")


def test_the_log_does_not_tell_the_url_that_it_could_not_call(rule: Rule, channel: Channel) -> None:
    look(rule, 0, "disk")
    called, _ = answering(AddressRefused(url=URL, problem="its host is not known"))
    send_next(channel_id=channel.pk, clock=lambda: later(0), call=called, mail=send_mail)
    assert Message.objects.get().problem == "its address is not called: its host is not known"


# The other side


def test_mails_arrive_with_one_id_for_all_attempts(settings: Settings) -> None:
    with serving(server := MailServer()):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS, settings.DEFAULT_FROM_EMAIL = False, "Coterie <coterie@fleet.example>"
        settings.PUBLIC_URL = "https://fleet.example"
        to = ["ada@example.org", "bob@example.org"]
        channel = create_channel(name="mail", kind=Channel.Kind.EMAIL, recipients=to, now=START).channel
        rule = create_rule(name="faults", kind=Rule.Kind.REPAIR, channels=[channel.pk], now=START)
        apply(rule_id=rule.pk, seen=[Sighting("x", "error", "Disk\nfull: ürgent", "")], now=later(0))
        bundle_all(now=later(0))
        server.refusals = 2
        send_all(channel, 0)
        message = Message.objects.get()
        assert (message.state, "try again later" in message.problem) == ("pending", True)
        send_all(channel, FIRST_PAUSE_S)
        message.refresh_from_db()
        assert message.state == "delivered"
        (mail,) = server.mails
        assert mail.recipients == tuple(to)
        assert f"Message-ID: <{message.pk}@fleet.example>" in mail.text
        assert "https://fleet.example/alerts" in mail.text


def test_a_mail_server_that_says_nothing_is_left(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DEFAULT_FROM_EMAIL, settings.EMAIL_HOST = "coterie@fleet.example", "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EMAIL_PORT = silent.getsockname()[1]
        mail = EmailMessage("x", "y", to=["ada@example.org"])
        assert send_mail(mail, deadline_s=0.1) == "the mail server took too long"


@pytest.mark.parametrize("kind", [Channel.Kind.SLACK, Channel.Kind.TEAMS, Channel.Kind.WEBHOOK])
def test_posts_arrive_as_each_kind_takes_them(kind: Channel.Kind, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ("127.0.0.1",)
    with serving(server := WebServer()):
        server.statuses = [500]
        made = create_channel(name="chat", kind=kind, url=f"{server.url}/T0/x?y=1", now=START)
        rule = create_rule(name="faults", kind=Rule.Kind.REPAIR, channels=[made.channel.pk], now=START)
        apply(rule_id=rule.pk, seen=[Sighting("x", "error", "<b> & [so] on", "/api/jobs/1/")], now=later(0))
        bundle_all(now=later(0))
        now = datetime.now(UTC)
        for seconds in (0.0, FIRST_PAUSE_S):
            send_next(
                channel_id=made.channel.pk,
                clock=lambda at=seconds: now + timedelta(seconds=at),  # type: ignore[misc]
                call=lambda url, body, headers: call_for_real(url, body, headers, allowed_hosts=("127.0.0.1",)),
                mail=send_mail,
            )
        assert Message.objects.get().state == "delivered"
        assert {post.headers["webhook-id"] for post in server.posts} == {str(Message.objects.get().pk)}
        post = server.posts[1]
        body = json.loads(post.body)
        assert post.path == "/T0/x?y=1"
        if kind == Channel.Kind.SLACK:
            assert "Error" in body["text"]
            assert "&lt;b&gt; &amp; [so] on (faults)" in body["text"]
        elif kind == Channel.Kind.TEAMS:
            card = body["attachments"][0]["content"]
            assert card["body"][0]["text"] == "Error: <b> & \\[so\\] on"
        else:
            assert Verifier(made.secret).verify(post.body, post.headers) == body
            (notice,) = body["notices"]
            assert (body["event"], notice["path"], notice["rule"]) == ("alert", "/api/jobs/1/", "faults")


def test_a_test_is_sent_in_quiet_hours_too_and_not_to_who_is_paused(channel: Channel) -> None:
    change_channel(channel=channel, given={"quiet_from": time(0), "quiet_until": time(23, 59)})
    notice = try_channel(channel=channel, now=START)
    assert told(send_all(channel, 0)) == [[f"test {notice.sentence}"]]
    change_channel(channel=channel, given={"is_active": False})
    with pytest.raises(ChannelPaused):
        try_channel(channel=channel, now=START)


def test_who_is_paused_is_told_nothing_not_even_later(rule: Rule, channel: Channel) -> None:
    change_channel(channel=channel, given={"quiet_from": time(0), "quiet_until": time(23, 59)})
    look(rule, 0, "disk")
    change_channel(channel=channel, given={"is_active": False})
    look(rule, 1)
    change_channel(channel=channel, given={"is_active": True, "quiet_from": None, "quiet_until": None})
    assert bundle(channel_id=channel.pk, now=later(2)) is None


# Bad input


@pytest.mark.parametrize(
    "given",
    [
        {"time_zone": "Europe/Atlantis"},
        {"quiet_from": time(1)},
        {"quiet_from": time(1), "quiet_until": time(1)},
        {"recipients": ["ada@example.org"]},
        {"url": ""},
    ],
)
def test_a_channel_that_makes_no_sense_is_refused(channel: Channel, given: dict[str, object]) -> None:
    with pytest.raises(BadChannel):
        change_channel(channel=channel, given=given)


def test_addresses_are_guarded_and_mail_needs_a_server(channel: Channel) -> None:
    with pytest.raises(AddressRefused):
        create_channel(name="x", kind=Channel.Kind.SLACK, url="https://10.0.0.1/x", now=START)
    with pytest.raises(AddressRefused):
        change_channel(channel=channel, given={"url": "http://169.254.169.254/"})
    with pytest.raises(NoMailServer):
        create_channel(name="x", kind=Channel.Kind.EMAIL, recipients=["ada@example.org"], now=START)
    with pytest.raises(ChannelNameTaken):
        create_channel(name=channel.name, kind=Channel.Kind.SLACK, url=URL, now=START)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": Rule.Kind.ONLINE_BELOW},
        {"kind": Rule.Kind.ONLINE_BELOW, "threshold": 1.5},
        {"kind": Rule.Kind.UNPUBLISHED_FOR, "threshold": float("nan")},
        {"kind": Rule.Kind.JOB_FAILED, "threshold": 0.5},
        {"kind": Rule.Kind.JOB_FAILED, "code": "x"},
        {"kind": Rule.Kind.REPAIR, "channels": []},
        {"kind": Rule.Kind.REPAIR, "channels": [10_000]},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(channel: Channel, given: dict[str, object]) -> None:
    with pytest.raises(BadRule):
        create_rule(name="x", now=START, **{"channels": [channel.pk], **given})  # type: ignore[arg-type]


def test_a_channel_that_rules_tell_is_not_removed(rule: Rule, channel: Channel) -> None:
    with pytest.raises(ChannelInUse):
        remove_channel(channel=channel)
    with pytest.raises(RuleNameTaken):
        create_rule(name=rule.name, kind=Rule.Kind.JOB_FAILED, channels=[channel.pk], now=START)
    look(rule, 0, "disk")
    remove_rule(rule=rule)
    assert Notice.objects.get().rule_name == "faults"
    remove_channel(channel=channel)


def test_the_log_forgets_what_is_old(rule: Rule, channel: Channel) -> None:
    look(rule, 0, "disk")
    look(rule, 1)
    send_all(channel, 2)
    sweep(now=later(3) + RETENTION)
    assert (Notice.objects.count(), Incident.objects.count()) == (0, 0)


# What rules see


@pytest.fixture
def watch(channel: Channel) -> Iterator[Callable[..., list[Sighting]]]:
    numbers = iter(range(100))

    def see(kind: Rule.Kind, *, seconds: float = 0.0, **terms: object) -> list[Sighting]:
        rule = create_rule(name=f"rule {next(numbers)}", kind=kind, channels=[channel.pk], now=START, **terms)  # type: ignore[arg-type]
        return sightings(rule, Situation(now=later(seconds)))

    yield see


def test_repairs_are_seen_by_code_kind_and_severity_and_mutes_are_heeded(watch: Callable[..., list[Sighting]]) -> None:
    make_pair()
    ModelPair.objects.update(state="rejected", reason_code="compile.unsupported", reason_sentence="no FFT")
    repair = Rule.Kind.REPAIR
    assert [len(watch(repair, code=code)) for code in ("", "compile.unsupported", "pair_rejected", "x")] == [1, 1, 1, 0]
    assert watch(repair, least="error") == []
    (seen,) = watch(repair)
    assert seen.is_certain
    mute_repair(key=seen.key, until=None, now=START)
    assert not watch(repair)[0].is_certain


def test_a_failed_job_is_seen(watch: Callable[..., list[Sighting]]) -> None:
    bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    assert watch(Rule.Kind.JOB_FAILED) == []
    TrainingJob.objects.update(state="failed", reason_code="child.crashed", reason_sentence="it crashed")
    (seen,) = watch(Rule.Kind.JOB_FAILED)
    assert (seen.severity, seen.sentence) == ("error", "The bootstrap of pair failed: it crashed")


def test_a_champion_below_its_accuracy_is_seen_and_one_unmeasured_is_uncertain(
    watch: Callable[..., list[Sighting]],
) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    (unsure,) = watch(Rule.Kind.ACCURACY_BELOW, threshold=0.9)
    assert not unsure.is_certain
    ModelVersion.objects.update(metrics={"accuracy": 0.85})
    (seen,) = watch(Rule.Kind.ACCURACY_BELOW, threshold=0.9, federation=federation)
    assert (seen.is_certain, seen.sentence) == (
        True,
        "The champion of digits, version 1, has an accuracy of 85.0%, below 90.0%.",
    )
    assert watch(Rule.Kind.ACCURACY_BELOW, threshold=0.85) == []


def test_too_few_devices_online_are_seen(watch: Callable[..., list[Sighting]]) -> None:
    assert not watch(Rule.Kind.ONLINE_BELOW, threshold=0.5)[0].is_certain  # there are none
    here, _, _ = fleet_of(3)
    here.check_in(START)
    Device.objects.exclude(pk=here.row.pk).update(present_until=None)
    (seen,) = watch(Rule.Kind.ONLINE_BELOW, threshold=0.5)
    assert (seen.is_certain, seen.sentence) == (True, "1 of 3 devices of the fleet are online, fewer than 50%.")
    assert watch(Rule.Kind.ONLINE_BELOW, threshold=0.3) == []


def test_a_federation_that_publishes_nothing_is_seen(watch: Callable[..., list[Sighting]]) -> None:
    federation = make_federation(make_pair())
    Round.objects.create(federation=federation, number=1, state="abandoned", opens_at=START, finished_at=START, seed=1)
    assert watch(Rule.Kind.UNPUBLISHED_FOR, threshold=2, seconds=2 * 3600) == []
    (seen,) = watch(Rule.Kind.UNPUBLISHED_FOR, threshold=2, seconds=2 * 3600 + 1)
    assert seen.sentence == "digits has published no round for more than 2 h, nor ever before."
    Round.objects.all().delete()
    assert watch(Rule.Kind.UNPUBLISHED_FOR, threshold=2, seconds=9000) == []  # it has not begun


def test_budgets_that_pay_few_rounds_are_seen(watch: Callable[..., list[Sighting]]) -> None:
    pair = make_pair()
    make_version(pair)
    uniform = {"merge": {"kind": "fed_avg", "weight_by": "uniform"}}
    noise = {**uniform, "privacy": {"kind": "central_noise", "noise_multiplier": 2.0}}
    make_federation(pair, plan=noise, target_updates=2, min_updates=2)
    fleet_of(2)
    (seen,) = watch(Rule.Kind.ROUNDS_LEFT_BELOW, threshold=10_000)
    assert seen.sentence.startswith("The privacy budgets of digits pay ")
    assert watch(Rule.Kind.ROUNDS_LEFT_BELOW, threshold=1) == []


def test_a_sweep_finds_and_tells(channel: Channel) -> None:
    create_rule(name="jobs", kind=Rule.Kind.JOB_FAILED, channels=[channel.pk], now=START)
    bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    TrainingJob.objects.update(state="failed", reason_code="child.crashed", reason_sentence="it crashed")
    sweep(now=later(1))
    sweep(now=later(2))
    TrainingJob.objects.update(state="succeeded")
    sweep(now=later(3))
    assert told(send_all(channel, 4)) == [
        ["firing The bootstrap of pair failed: it crashed"],
        ["resolved The bootstrap of pair failed: it crashed"],
    ]
