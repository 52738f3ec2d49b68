"""What happened is told once it is true, signed, and again until it arrives; and never into our own network."""

import hashlib
import hmac
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import msgspec
import pytest
from django.utils import timezone

from coterie.cloud_training.leasing import fail, take_lease
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.rounds.merging import merge_round
from coterie.rounds.models import Round
from coterie.webhooks.addresses import Target, resolve
from coterie.webhooks.delivering import MAX_ATTEMPTS, RETENTION, deliver, post_over_http, sweep
from coterie.webhooks.errors import AddressRefused, StillPending, WebhookNameTaken
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie.webhooks.services import announce, change_webhook, create_webhook, retry_delivery
from coterie.webhooks.signing import signature
from coterie_wire.conditions import Reason
from tests.coterie.world import (
    START,
    fleet_of,
    in_this_process,
    later,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db
URL = "https://198.51.100.7/hook"


@pytest.fixture
def webhook(settings) -> Webhook:
    settings.WEBHOOK_HOSTS = ("198.51.100.7",)
    return create_webhook(name="chat", url=URL, events=[Event.ROUND_PUBLISHED, Event.JOB_FAILED], now=START).webhook


def answers(*statuses: int | Exception) -> tuple[Callable[..., int], list[tuple[bytes, dict[str, str]]]]:
    """A server that answers so, and what it was sent."""
    sent: list[tuple[bytes, dict[str, str]]] = []
    left = list(statuses)

    def post(_target: Target, body: bytes, headers: dict[str, str]) -> int:
        sent.append((body, headers))
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return post, sent


def test_only_what_is_wanted_is_told(webhook: Webhook) -> None:
    announce(Event.DEVICE_DRIFTED, {}, now=START)
    announce(Event.ROUND_PUBLISHED, {"round": 3}, now=START)
    change_webhook(webhook=webhook, is_active=False)
    announce(Event.ROUND_PUBLISHED, {"round": 4}, now=START)
    delivery = Delivery.objects.get()
    assert delivery.body == {
        "id": str(delivery.pk),
        "event": "round.published",
        "at": START.isoformat(),
        "round": 3,
    }


def test_a_delivery_is_signed_and_counted_once(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {"round": 3}, now=START)
    delivery = Delivery.objects.get()
    post, sent = answers(204)
    for _ in range(2):
        deliver(delivery_id=delivery.pk, clock=lambda: later(1), post=post)
    ((body, headers),) = sent
    seconds = int(later(1).timestamp())
    digest = hmac.new(webhook.secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["Coterie-Signature"] == f"t={seconds},v1={digest}"
    assert (headers["Coterie-Event"], headers["Coterie-Delivery"]) == ("round.published", str(delivery.pk))
    assert msgspec.json.decode(body) == delivery.body
    delivery.refresh_from_db()
    assert (delivery.state, delivery.status, delivery.attempts) == ("delivered", 204, 1)


def test_what_fails_is_tried_again_after_longer_and_longer_pauses_and_given_up(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, now=START)
    delivery = Delivery.objects.get()
    clock, pauses = [START], []
    post, sent = answers(500, httpx.ConnectError("refused"), *[302] * MAX_ATTEMPTS)
    while delivery.state == "pending":
        deliver(delivery_id=delivery.pk, clock=lambda: clock[-1], post=post)
        delivery.refresh_from_db()
        deliver(delivery_id=delivery.pk, clock=lambda: clock[-1], post=post)  # it is not due
        if delivery.next_at is not None:
            pauses.append((delivery.next_at - clock[-1]).total_seconds())
            clock.append(delivery.next_at)
    assert (delivery.state, delivery.attempts, len(sent)) == ("failed", MAX_ATTEMPTS, MAX_ATTEMPTS)
    assert pauses == [30.0 * 2**n for n in range(MAX_ATTEMPTS - 1)]
    assert delivery.problem == "it answered with status 302"
    retry_delivery(delivery=delivery, now=clock[-1])
    with pytest.raises(StillPending):
        retry_delivery(delivery=delivery, now=clock[-1])
    deliver(delivery_id=delivery.pk, clock=lambda: clock[-1], post=answers(200)[0])
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_a_worker_that_dies_delays_a_delivery(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, now=START)
    delivery = Delivery.objects.get()
    with pytest.raises(MemoryError):
        deliver(delivery_id=delivery.pk, clock=lambda: START, post=answers(MemoryError())[0])
    post, sent = answers(200)
    deliver(delivery_id=delivery.pk, clock=lambda: later(59), post=post)
    assert sent == []
    deliver(delivery_id=delivery.pk, clock=lambda: later(61), post=post)
    assert len(sent) == 1


def test_the_sweep_forgets_what_is_old(webhook: Webhook) -> None:
    announce(Event.ROUND_PUBLISHED, {}, now=START)
    announce(Event.ROUND_PUBLISHED, {}, now=START)
    first = Delivery.objects.all()[0]
    deliver(delivery_id=first.pk, clock=lambda: START, post=answers(200)[0])
    sweep(now=START + RETENTION + timedelta(seconds=1))
    assert Delivery.objects.get() != first


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


def test_the_body_goes_over_http_and_redirects_are_not_followed() -> None:
    heard: list[tuple[str, str, bytes]] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((self.path, self.headers["Host"], body))
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        target = resolve(f"http://127.0.0.1:{server.server_port}/hook?x=1", allowed_hosts=("127.0.0.1",))
        assert post_over_http(target, b"{}", {}) == 302
        thread.join()
        assert heard == [("/hook?x=1", f"127.0.0.1:{server.server_port}", b"{}")]


def test_a_signature_is_what_the_documentation_says() -> None:
    known = hmac.new(b"cow_x", b"1767268800.{}", hashlib.sha256).hexdigest()
    assert signature("cow_x", b"{}", START) == f"t=1767268800,v1={known}"


def test_a_published_round_and_a_failed_job_are_told(webhook: Webhook) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)
    (device,) = fleet_of(1)
    assigned = device.check_in(timezone.now()).assignment
    assert assigned is not None
    device.deliver(assigned.assignment, timezone.now(), seed=1)
    Round.objects.filter(state="closing").update(state="merging")
    round_ = Round.objects.get(state="merging")
    for _ in range(2):
        merge_round(round_id=round_.pk, clock=timezone.now, merger=in_this_process)
    told = Delivery.objects.get()
    assert (told.event, told.body["round"], told.body["federation"]) == ("round.published", 1, "digits")
    job = bootstrap_pair(pair=make_pair("other"), dataset=make_dataset(), options=TrainingOptions(), now=START)
    take_lease(job.pk, job.pk, START)
    fail(job.pk, job.pk, Reason("child.crashed", "it crashed"), later(1))
    told = Delivery.objects.get(event="job.failed")
    assert (told.body["code"], told.body["pair"]) == ("child.crashed", "other")
