"""What happened is told once it is true, signed, and again until it arrives; and never into our own network."""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event as Flag
from threading import Thread

import httpx
import pytest
from django.db import connection
from django.utils.timezone import now as now_here
from standardwebhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from coterie.cloud_training.leasing import fail
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Round
from coterie.webhooks.addresses import Target, resolve
from coterie.webhooks.calling import call
from coterie.webhooks.delivering import RETENTION, deliver_next, sweep
from coterie.webhooks.errors import AddressRefused, StillPending, WebhookNameTaken
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie.webhooks.outgoing import LEASE, MAX_ATTEMPTS
from coterie.webhooks.services import announce, change_webhook, create_webhook, retry_delivery
from coterie.webhooks.signing import new_secret, signed_headers
from coterie_wire.conditions import Reason
from tests.coterie.cloud_training.taking import begin_job
from tests.coterie.world import (
    START,
    fleet_of,
    in_this_process,
    later,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db
URL = "https://198.51.100.7/hook"


@pytest.fixture
def webhook(settings) -> Webhook:
    settings.WEBHOOK_HOSTS = ("198.51.100.7",)
    return create_webhook(name="chat", url=URL, events=[Event.ROUND_PUBLISHED, Event.JOB_FAILED], now=START).webhook


def answers(*statuses: int | Exception) -> tuple[Callable[..., int], list[tuple[bytes, Mapping[str, str]]]]:
    """A server that answers so, and what it was sent."""
    sent: list[tuple[bytes, Mapping[str, str]]] = []
    left = list(statuses)

    def called(_url: str, body: bytes, headers: Mapping[str, str]) -> int:
        sent.append((body, headers))
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return called, sent


def test_only_what_is_wanted_is_told(webhook: Webhook) -> None:
    announce(Event.DEVICE_DRIFTED, {}, about=webhook, now=START)
    announce(Event.ROUND_PUBLISHED, {"round": 3}, about=webhook, now=START)
    change_webhook(webhook=webhook, is_active=False)
    announce(Event.ROUND_PUBLISHED, {"round": 4}, about=webhook, now=START)
    delivery = Delivery.objects.get()
    assert delivery.body == {
        "id": str(delivery.pk),
        "event": "round.published",
        "at": START.isoformat(),
        "round": 3,
    }


def test_a_delivery_is_signed_and_counted_once(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {"round": 3}, about=webhook, now=START)
    delivery = Delivery.objects.get()
    called, sent = answers(204)
    assert deliver_next(webhook_id=webhook.pk, clock=now_here, call=called)
    assert not deliver_next(webhook_id=webhook.pk, clock=now_here, call=called)
    ((body, headers),) = sent
    assert Verifier(webhook.secret).verify(body, dict(headers)) == delivery.body
    assert headers["webhook-id"] == str(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.status, delivery.attempts) == ("delivered", 204, 1)


def test_what_fails_is_tried_again_after_longer_and_longer_pauses_and_given_up(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, about=webhook, now=START)
    delivery = Delivery.objects.get()
    clock, pauses = [START], []
    called, sent = answers(500, httpx.ConnectError("refused"), TimeoutError(), *[302] * MAX_ATTEMPTS)
    while delivery.state == "pending":
        deliver_next(webhook_id=webhook.pk, clock=lambda: clock[-1], call=called)
        delivery.refresh_from_db()
        assert not deliver_next(webhook_id=webhook.pk, clock=lambda: clock[-1], call=called)  # it is not due
        if delivery.next_at is not None:
            pauses.append((delivery.next_at - clock[-1]).total_seconds())
            clock.append(delivery.next_at)
    assert (delivery.state, delivery.attempts, len(sent)) == ("failed", MAX_ATTEMPTS, MAX_ATTEMPTS)
    assert pauses == [30.0 * 2**n for n in range(MAX_ATTEMPTS - 1)]
    assert delivery.problem == "it answered with status 302"
    retry_delivery(delivery=delivery, now=clock[-1])
    with pytest.raises(StillPending):
        retry_delivery(delivery=delivery, now=clock[-1])
    deliver_next(webhook_id=webhook.pk, clock=lambda: clock[-1], call=answers(200)[0])
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_a_worker_that_dies_delays_a_delivery(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, about=webhook, now=START)
    with pytest.raises(MemoryError):
        deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=answers(MemoryError())[0])
    called, sent = answers(200)
    deliver_next(webhook_id=webhook.pk, clock=lambda: START + LEASE - timedelta(seconds=1), call=called)
    assert sent == []
    deliver_next(webhook_id=webhook.pk, clock=lambda: START + LEASE, call=called)
    assert len(sent) == 1


def test_a_webhook_is_called_once_at_a_time(webhook: Webhook) -> None:
    for number in range(2):
        announce(Event.ROUND_PUBLISHED, {"round": number}, about=webhook, now=START)
    others: list[bool] = []

    def called(_url: str, _body: bytes, _headers: Mapping[str, str]) -> int:
        others.append(deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=answers(200)[0]))
        return 200

    assert deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=called)
    assert others == [False]
    assert deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=answers(200)[0])


def test_a_clock_that_is_set_back_holds_nothing_up(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, about=webhook, now=later(7 * 24 * 3600))
    Webhook.objects.update(held_until=later(7 * 24 * 3600))
    assert deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=answers(200)[0])


def test_the_sweep_forgets_what_is_old(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, about=webhook, now=START)
    announce(Event.ROUND_PUBLISHED, {}, about=webhook, now=START)
    deliver_next(webhook_id=webhook.pk, clock=lambda: START, call=answers(200)[0])
    sweep(now=START + RETENTION + timedelta(seconds=1))
    assert Delivery.objects.get().state == "pending"


def test_names_are_taken_once(webhook: Webhook) -> None:
    with pytest.raises(WebhookNameTaken):
        create_webhook(name="chat", url=URL, events=[Event.JOB_FAILED], now=START)


@pytest.mark.parametrize(
    "url",
    [
        "http://198.51.100.1/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[64:ff9b::8.8.8.8]/",
        "https://[64:ff9b:1::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[fec0::1]/",
        "https://[::8.8.8.8]/",
        "https://[ff0e::1]/",
        "https://224.0.0.1/",
        "https://239.1.1.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://2130706433/",
        "https://user@8.8.8.8/",
        "https://8.8.8.8:99999/",
        "https://no-such-host.invalid/",
        "ftp://8.8.8.8/",
        "https:///path",
    ],
)
def test_the_platforms_own_network_is_out_of_reach(url: str) -> None:
    with pytest.raises(AddressRefused):
        resolve(url, allowed_hosts=())


def test_a_public_address_and_a_named_host_are_called() -> None:
    assert resolve("https://8.8.8.8:8443/a?b=c", allowed_hosts=()) == Target(
        "https", "8.8.8.8", "8.8.8.8", 8443, "/a?b=c"
    )
    assert resolve("http://localhost:8080", allowed_hosts=("localhost",)).port == 8080


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server that answers one request as `handler` says."""
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        yield server.server_port
        thread.join()


def test_the_body_goes_over_http_and_redirects_are_not_followed() -> None:
    heard: list[tuple[str, str, bytes]] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((self.path, self.headers["Host"], body))
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(Redirecting) as port:
        assert call(f"http://127.0.0.1:{port}/hook?x=1", b"{}", {}, allowed_hosts=("127.0.0.1",)) == 302
    assert heard == [("/hook?x=1", f"127.0.0.1:{port}", b"{}")]


def test_one_that_answers_for_ever_is_left_at_the_deadline() -> None:
    left = Flag()

    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.flush_headers()
            try:
                while not left.wait(0.01):
                    self.wfile.write(b"X-More: more\r\n")
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            pass

    with serving(Dripping) as port:
        try:
            with pytest.raises(TimeoutError):
                call(f"http://127.0.0.1:{port}/", b"{}", {}, allowed_hosts=("127.0.0.1",), deadline_s=0.3)
        finally:
            left.set()


@pytest.mark.django_db(transaction=True)
def test_no_transaction_waits_for_a_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    open_: list[bool] = []

    def slow_name_server(*_: object, **__: object) -> list[tuple[object, ...]]:
        open_.append(connection.in_atomic_block)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", slow_name_server)
    made = create_webhook(name="chat", url="https://hook.example/", events=[Event.JOB_FAILED], now=START)
    change_webhook(webhook=made.webhook, url="https://hook.example/other")
    assert open_ == [False, False]


def test_signatures_are_those_of_the_standards_own_example() -> None:
    at = datetime.fromtimestamp(1614265330, timezone(timedelta(hours=9)))
    secret, delivery = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    headers = signed_headers(secret, delivery, b'{"test": 2432232314}', at)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"


def test_a_changed_body_another_secret_and_an_old_time_are_told() -> None:
    secret, body = new_secret(), b'{"event":"test"}'
    headers = dict(signed_headers(secret, "one", body, datetime.now(UTC)))
    assert Verifier(secret).verify(body, headers) == {"event": "test"}
    old = dict(signed_headers(secret, "one", body, datetime.now(UTC) - timedelta(minutes=6)))
    for key, content, given in ((secret, body + b" ", headers), (new_secret(), body, headers), (secret, body, old)):
        with pytest.raises(WebhookVerificationError):
            Verifier(key).verify(content, given)


def test_a_published_round_and_a_failed_job_are_told(webhook: Webhook) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)
    (device,) = fleet_of(1)
    assigned = device.check_in(now_here()).assignment
    assert assigned is not None
    device.deliver(assigned.assignment, now_here(), seed=1)
    advance_federation(federation_id=federation.pk, now=now_here())
    round_ = Round.objects.get(state="merging")
    for _ in range(2):
        merge_round(round_, clock=now_here, merger=in_this_process)
    told = Delivery.objects.get()
    assert (told.event, told.body["round"], told.body["federation"]) == ("round.published", 1, "digits")
    job = bootstrap_pair(pair=make_pair("other"), dataset=make_dataset(), options=TrainingOptions(), now=START)
    taken = begin_job(job.pk, job.pk, START)
    assert taken is not None
    fail(taken, job.pk, Reason("child.crashed", "it crashed"), later(1))
    told = Delivery.objects.get(event="job.failed")
    assert (told.body["code"], told.body["pair"]) == ("child.crashed", "other")
