"""Requests for the log: the owner's rule and his word decide, and nothing is sent without them."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import pytest

from coterie_agent.config import LogSettings
from coterie_agent.device_log.keeping import LogKeeper
from coterie_agent.device_log.owner_view import LogDecision, logs_view, record_decision
from coterie_agent.device_log.rule import sends_log
from coterie_agent.device_log.thread import LogThread
from coterie_agent.home import Home
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.site import RequestError
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_wire.conditions import Conditions
from coterie_wire.device_log import DeliverLog, LogAsked, ReportLog
from coterie_wire.message import Message
from coterie_wire.messages import Directive, Done, Problem

ASKED = LogAsked(request="l-1", hours=2, why="It never trains.", keep_days=30)
Rule = Literal["never", "ask", "always"]
WAIT_S = 20.0


class Link:
    """The way to a platform that takes what it is told, or fails as often as it is to."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.failures: list[Exception] = []

    def call(self, message: Message, _reply: type[Done]) -> Done:
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(message)
        return Done()

    def outcomes(self) -> list[tuple[str, str]]:
        return [(one.outcome, one.reason.code) for one in self.sent if isinstance(one, ReportLog)]

    def delivered(self) -> list[DeliverLog]:
        return [one for one in self.sent if isinstance(one, DeliverLog)]


class Asked:
    """A device that is asked for its log."""

    def __init__(self, home: Home, store: Store) -> None:
        self.home, self.store, self.link, self.situation = home, store, Link(), Situation()
        self.settings = LogSettings()
        self._thread: threading.Thread | None = None

    def start(self, rule: Rule, *, asked: LogAsked | None = ASKED) -> "Asked":
        self.settings = LogSettings(send=rule)
        self.situation.set_conditions(Conditions(), ())
        self.situation.link("https")
        self.situation.set_directive(Directive(check_in_s=10.0, log=asked), at=0.0)
        runner = LogThread(
            home=self.home,
            settings=self.settings,
            store=self.store,
            link=self.link,  # type: ignore[arg-type]  # what of it is used
            situation=self.situation,
        )
        self._thread = threading.Thread(target=runner.run, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        self.situation.stop()
        if self._thread is not None:
            self._thread.join(WAIT_S)
            assert not self._thread.is_alive()

    def until(self, look: Callable[[], object]) -> None:
        ends_at = time.monotonic() + WAIT_S
        while not look():
            assert time.monotonic() < ends_at
            time.sleep(0.01)

    def outcome(self) -> str:
        found = self.store.log_requests.requests()
        return found[0].outcome if found else ""


@pytest.fixture
def device(home: Home, store: Store) -> Iterator[Asked]:
    home.credential.write_text("s3cret")
    logger = logging.Logger("coterie_agent.contact")
    keeper = LogKeeper(home.log)
    logger.addHandler(keeper)
    old = logger.makeRecord("coterie_agent.contact", logging.INFO, "", 0, "too old", (), None)
    old.created -= 3 * 3600
    logger.handle(old)
    logger.error("refused with credential s3cret in round 7")
    keeper.close()
    asked = Asked(home, store)
    yield asked
    asked.stop()


def test_an_owner_who_lets_nobody_have_it_sends_nothing(device: Asked) -> None:
    device.start("never").until(lambda: device.outcome() == "refused")
    assert device.link.outcomes() == [("refused", "logs.never")]
    assert device.link.delivered() == []
    assert sends_log(device.settings).refuses is not None and sends_log(LogSettings()).refuses is None


def test_an_owner_who_always_allows_it_sends_the_hours_asked_for_without_secrets(device: Asked) -> None:
    device.start("always").until(lambda: device.outcome() == "delivered")
    assert device.link.outcomes() == [("allowed", "logs.always")]
    (delivery,) = device.link.delivered()
    assert [line.text for line in delivery.lines] == ["refused with credential [secret] in round 7"]
    (request,) = device.store.log_requests.requests()
    assert (request.lines, request.hours, request.why) == (1, 2, "It never trains.") and request.bytes > 50


def test_where_a_plan_hides_figures_none_is_sent(device: Asked) -> None:
    device.store.work.hide()
    device.start("always").until(device.link.delivered)
    assert device.link.delivered()[0].lines[0].text == "refused with credential [secret] in round #"


@pytest.mark.parametrize(("say", "outcome"), [("allow", "delivered"), ("refuse", "refused")])
def test_an_owner_is_asked_and_his_word_holds(device: Asked, say: Literal["allow", "refuse"], outcome: str) -> None:
    device.start("ask").until(device.link.outcomes)
    assert device.link.outcomes() == [("asking", "logs.asks_owner")]
    view = logs_view(device.settings, device.store.log_requests)
    assert view.asked is not None and (view.asked.why, view.asked.keep_days) == ("It never trains.", 30)
    record_decision(device.store.log_requests, LogDecision(view.asked.request, say))
    device.until(lambda: device.outcome() == outcome)
    assert bool(device.link.delivered()) == (say == "allow")
    view = logs_view(device.settings, device.store.log_requests)
    assert view.asked is None and [one.outcome for one in view.ended] == [outcome]


def test_a_word_on_what_nobody_asks_is_not_taken(device: Asked) -> None:
    with pytest.raises(RequestError) as refused:
        record_decision(device.store.log_requests, LogDecision("l-9", "allow"))
    assert refused.value.code == "logs.not_asked"


def test_a_word_that_the_disk_has_damaged_allows_nothing(device: Asked) -> None:
    device.store.log_requests.receive(ASKED, now=1.0)
    device.store.log_requests.decide("l-1", "allowed")
    with device.store.log_requests._database.transaction() as cursor:
        cursor.execute("UPDATE log_request SET seal = x'00'")
    device.start("ask").until(device.link.outcomes)
    assert device.link.outcomes() == [("asking", "logs.asks_owner")]


def test_the_word_holds_for_that_request_alone(device: Asked) -> None:
    device.store.log_requests.receive(ASKED, now=1.0)
    device.store.log_requests.decide("l-1", "allowed")
    device.start("ask", asked=msgspec.structs.replace(ASKED, request="l-2")).until(device.link.outcomes)
    assert device.link.outcomes() == [("asking", "logs.asks_owner")]
    assert [one.outcome for one in device.store.log_requests.requests()] == ["open", "withdrawn"]


def test_what_is_no_longer_asked_for_is_withdrawn(device: Asked) -> None:
    device.store.log_requests.receive(ASKED, now=1.0)
    device.start("always", asked=None).until(lambda: device.outcome() == "withdrawn")
    assert device.link.sent == []


def test_it_is_sent_once_the_platform_can_be_reached(device: Asked) -> None:
    device.link.failures = [Unreachable("away")]
    device.start("always").until(lambda: device.outcome() == "delivered")
    assert len(device.link.delivered()) == 1


def test_what_the_platform_does_not_take_is_not_sent_again(device: Asked) -> None:
    problem = Problem(code="device_logs.unknown", title="", status=404, detail="no such request")
    device.link.failures = [Refused(problem)]
    device.start("always").until(lambda: device.outcome() == "withdrawn")
    assert device.link.sent == []
