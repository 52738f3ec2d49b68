"""Checks in with the platform, over the socket where it works, else over HTTPS, and stores the directive it returns."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from coterie_agent.certifying import Certifying
from coterie_agent.errors import AgentError, reason_of
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import CERTIFICATE_REFUSED, Refused
from coterie_agent.renewing import Renewing
from coterie_agent.sharing import Telling, has_profile_noise, share_counts
from coterie_agent.situation import Now, Situation, comes_back
from coterie_agent.store.agreements import AgreementStore
from coterie_agent.store.check_ins import CheckInStore, NextCheckIn
from coterie_agent.store.identity import IdentityStore
from coterie_agent.store.journal import Journal
from coterie_agent.store.labelling import LabellingStore
from coterie_agent.store.latencies import LatencyStore
from coterie_agent.store.peers import PeersStore
from coterie_agent.store.platform_offer import PlatformOfferStore
from coterie_agent.store.promises import PromiseStore
from coterie_agent.store.samples import SampleStore
from coterie_agent.store.work import WorkStore
from coterie_learning.consent import LABELS
from coterie_learning.kind_names import own_kinds
from coterie_wire.asking import OfferToAnswer
from coterie_wire.conditions import Conditions
from coterie_wire.device_log import SendsLog
from coterie_wire.errors import WireError
from coterie_wire.latency import Latency
from coterie_wire.meeting import OfferToMeet
from coterie_wire.message import Message
from coterie_wire.messages import MAX_LATENCIES, Capabilities, CheckIn, DataMetadata, Directive, LabelFacts
from coterie_wire.relaying import OfferToLead, Shedding
from coterie_wire.updating import TakesUpdates
from coterie_wire.version import PROTOCOL

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Message)
_SHORTEST_S = 0.1
"""Least seconds between check-ins, whatever the platform asks for."""
_CAPABILITIES_S = 3600.0
"""Seconds after which capabilities that have not changed are told again."""
_LATENCIES_S = 600.0
"""Least seconds between two tellings of how quick the device is, unless something was measured for the first time."""


class Caller(Protocol):
    """A way to send a message. Raises Unreachable or Refused."""

    def call(self, message: Message, reply: type[R]) -> R: ...


class Socket(Caller, Protocol):
    """A way that stays open."""

    @property
    def spread_s(self) -> float:
        """Where the platform has closed it: within how many seconds the device connects again."""

    def close(self) -> None: ...


OpenSocket = Callable[[Callable[[], None], Callable[[], None]], Socket]
"""Opens a socket that calls its first argument when the platform has news, its second when it has closed."""


class ReportedState(msgspec.Struct, frozen=True):
    """What the platform knows of the device when it starts again."""

    conditions: Conditions
    blockers: tuple[str, ...]
    version: str | None


class Reported(NamedTuple):
    """The fields of a check-in whose change is sent at once; counts, temperatures and idleness wait for the next one.

    Where a plan or the owner asks for an idle device, a blocker changes with idleness.
    """

    conditions: Conditions
    blockers: tuple[str, ...]
    assignment: str | None
    stage: str | None
    version: str | None
    standing: str | None
    asking: str | None
    shedding: Shedding | None


@dataclass(kw_only=True)
class Contact:
    """The thread that checks in."""

    situation: Situation
    samples: SampleStore
    labelling: LabellingStore
    peers: PeersStore
    work: WorkStore
    agreements: AgreementStore
    promises: PromiseStore
    journal: Journal
    latencies: LatencyStore
    check_ins: CheckInStore
    capabilities: Capabilities
    https: Caller
    open_socket: OpenSocket
    check_in_s: float
    identity: IdentityStore
    renewing: Renewing
    certifying: Certifying
    exclusions: Exclusions
    tell: Telling
    peer_key: bytes | None = None
    """By which other devices know this one."""
    leads: OfferToLead | None = None
    """What its owner lets it do for its neighbours."""
    meets: OfferToMeet | None = None
    """Where its owner lets it meet its peers."""
    answers: OfferToAnswer | None = None
    """What its owner lets it be counted in."""
    platform_offer: PlatformOfferStore
    opens_paths: bool = False
    """Whether its owner lets it meet others by direct paths."""
    asks_platform: bool = False
    """Whether its owner lets samples go to the platform for an answer."""
    certifies: bool = False
    """Whether its connections can show a certificate: they are TLS."""
    takes_updates: TakesUpdates | None = None
    """Whether other releases of the agent are installed."""
    sends_log: SendsLog | None = None
    """Whether its owner lets its log be sent."""
    rng: random.Random = field(default_factory=random.SystemRandom)

    def __post_init__(self) -> None:
        self._socket: Socket | None = None
        self._socket_backoff, self._socket_at = Backoff(), 0.0
        self._backoff = Backoff()
        self._due_at = self._not_before = 0.0  # on the monotonic clock
        self._reported: tuple[Reported, int] | None = None
        self._may_say_more = False
        self._hides = True  # until the platform says that no plan does
        self._told: tuple[Latency, ...] = ()
        self._told_at = 0.0
        self._capable: Capabilities | None = None  # as the platform was told since contact with it began
        self._capable_at = 0.0
        self._spread_s = 0.0  # width of the window that the device was told, in a large fleet
        self._known: bytes | None = None  # by the platform, before the first check-in since the start

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        self._go_on()
        while not (now := self.situation.now).stopping:
            at = time.monotonic()
            if self._socket is None and at >= self._socket_at:
                self._connect()
            elif at >= self._not_before and (at >= self._due_at or self._has_news(now)):
                self._check_in(now)
            else:
                next_at = self._not_before if self._has_news(now) else max(self._due_at, self._not_before)
                if self._socket is None:
                    next_at = min(next_at, self._socket_at)
                self.situation.wait(now.edition, max(0.0, next_at - at))
        if self._socket is not None:
            self._socket.close()

    def _go_on(self) -> None:
        """Come back when it was drawn before the agent was stopped, unless there is work in hand."""
        visit = self.check_ins.find()
        if visit is None:
            return
        self._spread_s, self.check_in_s = visit.spread_s, visit.interval_s
        left_s = visit.due_at - time.time()
        if left_s <= 0 or self.work.current() is not None:
            return
        left_s = min(left_s, visit.longest_s)  # where the clock was set back
        self._due_at = self._socket_at = time.monotonic() + left_s
        self._known = visit.said
        self.situation.link("offline", comes_back(left_s))

    def _has_news(self, now: Now) -> bool:
        if self._known is not None:
            return _known_of(now) != self._known
        return (_report_of(now), now.wakes) != self._reported

    def _connect(self) -> None:
        try:
            self._socket = self.open_socket(self.situation.wake, self._lost_socket)
        except AgentError as error:
            self._socket_backoff = self._socket_backoff.failed()
            self._socket_at = time.monotonic() + self._delay_s(self._socket_backoff)
            log.debug("%s", error.detail)
        else:
            # News may have been missed meanwhile: check in at once. The platform may be one restored from a backup.
            self._socket_backoff, self._reported, self._capable = Backoff(), None, None

    def _lost_socket(self) -> None:
        """Called by the reading thread; the next check-in notices the closed socket."""
        self.situation.wake()

    def _check_in(self, now: Now) -> None:
        reported = (_report_of(now), now.wakes)
        way: Caller = self._socket or self.https
        message = self._message(now)
        try:
            directive = way.call(message, Directive)
        except Refused as refusal:
            if refusal.is_revoked:
                self.situation.end(refusal)
            elif refusal.code in CERTIFICATE_REFUSED and self._socket is not None:
                self._drop_socket()  # over HTTPS the device asks for another, and connects anew
            else:
                self._failed(refusal)
        except AgentError as error:
            if self._socket is None:
                self._failed(error)
            else:
                self._drop_socket()
        else:
            at = time.monotonic()
            self.check_in_s = max(directive.check_in_s, _SHORTEST_S)
            self._due_at = at + self._draw(directive, now)
            self._backoff, self._reported, self._known = Backoff(), reported, None
            if message.capabilities is not None:
                self._capable, self._capable_at = message.capabilities, at
            if message.latencies:
                self._told, self._told_at = message.latencies, at
            if self.situation.now.link == "offline":
                log.info("in contact with the platform over %s", "the socket" if self._socket else "HTTPS")
                self._socket_backoff = Backoff()
            if directive.ignores_unknown and not self._may_say_more:
                # Check in again at once, with fields that 0.1 refuses and what no plan hides.
                self._may_say_more, self._reported = True, None
            self._hides = directive.hides
            if directive.hides:
                self.work.hide()
            self._follow_keys(directive)
            # Before any thread acts on the answer: a round must not begin with a personal model that is to be removed.
            if directive.withdrawn and self.peers.give_up(directive.withdrawn):
                log.info("the personal model came from a version that was rolled back, and is what it was before")
            self._hear_excluded(directive)
            if directive.federations is not None:
                self.agreements.keep_only(directive.federations)
                self.promises.keep_only(directive.federations)
            if directive.requirements is None:  # no federation asks anything of the device: it is in none
                self.work.leave_federations()
            self.platform_offer.hold(directive.platform_answers if self.asks_platform else None)
            self.situation.link("socket" if self._socket else "https")
            self.situation.direct(directive, at=at)
            is_certified = directive.renew_certificate and self.certifying.certify()
            if (directive.renew_credential and self.renewing.renew()) or is_certified:
                self._connect_anew()

    def _draw(self, directive: Directive, now: Now) -> float:
        """Seconds until the next check-in, which spreads those of a fleet."""
        window = directive.window
        if window is None:
            if self._spread_s:
                self._spread_s = 0.0
                self.check_ins.drop()
            return self.rng.uniform(0.8, 1.0) * self.check_in_s
        self._spread_s = window.within_s
        wait_s = max(_SHORTEST_S, window.after_s + self.rng.uniform(0, window.within_s))
        self.check_ins.keep(
            NextCheckIn(
                due_at=time.time() + wait_s,
                interval_s=self.check_in_s,
                spread_s=window.within_s,
                longest_s=wait_s,
                said=_known_of(now),
            )
        )
        return wait_s

    def _follow_keys(self, directive: Directive) -> None:
        """Before anything of `directive` is read, which the last of its keys has signed."""
        if not directive.next_keys:
            return
        try:
            if self.identity.follow(directive.next_keys):
                log.warning("the platform signs with another key now, which the one before has named")
        except WireError as error:
            log.error("the platform names a key that its own did not sign: %s [%s]", error.detail, error.code)

    def _hear_excluded(self, directive: Directive) -> None:
        """Before the device meets anybody by `directive`."""
        if directive.excluded is None:
            return
        try:
            self.exclusions.hear(directive.excluded)
        except WireError as error:
            log.error("the platform's list of excluded devices is not its own: %s [%s]", error.detail, error.code)

    def _connect_anew(self) -> None:
        """Show the other credential at once: on the socket, and in a check-in, with which the former one ends."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._socket_at, self._reported = None, 0.0, None

    def _drop_socket(self) -> None:
        """The device checks in over HTTPS at once, unless too many do at the same time: all whose process has ended."""
        assert self._socket is not None
        spread_s = max(self._socket.spread_s, self._spread_s)
        self._socket.close()
        self._socket = None
        self._socket_backoff = self._socket_backoff.failed()
        if spread_s:
            self._socket_at = self._not_before = time.monotonic() + self.rng.uniform(0, spread_s)
        else:
            self._socket_at = time.monotonic() + self._delay_s(self._socket_backoff)

    def _delay_s(self, backoff: Backoff) -> float:
        """Seconds until the next try: in a large fleet as many as after an answer, so that an outage draws nobody
        together."""
        if self._spread_s:
            return self.rng.uniform(0.5, 1.5) * self.check_in_s
        return backoff.delay_s(longest_s=self.check_in_s, rng=self.rng)

    def _failed(self, error: AgentError) -> None:
        self._capable = None
        self._backoff = self._backoff.failed()
        self._not_before = time.monotonic() + self._delay_s(self._backoff)
        if self.situation.now.link_problem is None:
            log.warning("no contact with the platform: %s; trying again", error.detail)
        self.situation.link("offline", reason_of(error))

    def _message(self, now: Now) -> CheckIn:
        """The check-in.

        Where a plan hides in a sum what devices measure, numbers of samples, in all and by class, and of steps are
        withheld, and how quick the device is: until the platform has said that no plan of the device's federations
        does, and then until the device accepts an assignment of another plan.
        """
        is_masked = self._hides or self.work.is_masked()
        progress = now.progress
        if is_masked and progress is not None:
            progress = msgspec.structs.replace(progress, steps_done=0, steps_total=0)
        step_s = None if is_masked else self.journal.measured("train_step_s")
        capabilities = msgspec.structs.replace(self.capabilities, train_step_s=step_s)
        if self._may_say_more:
            capabilities = msgspec.structs.replace(
                capabilities,
                kinds=own_kinds(),
                peer_key=self.peer_key,
                platform_key=self.identity.get().platform_key,
                relay=self.leads and msgspec.structs.replace(self.leads, shedding=now.shedding),
                meets=self.meets,
                answers=self.answers,
                evaluates=True,
                shadows=True,
                renews=True,
                asks_platform=self.asks_platform,
                paths=self.opens_paths,
                updates=self.takes_updates,
                certifies=self.certifies,
                logs=self.sends_log,
                declines=tuple(part for part in self.agreements.withdrawn() if part != LABELS),
            )
        return CheckIn(
            protocol=PROTOCOL,
            conditions=now.conditions,
            blockers=now.blockers[:16],
            progress=progress,
            version=now.version,
            metadata=None if is_masked else self._metadata(),
            capabilities=self._news_of_capabilities(capabilities),
            standing=now.standing,
            help=now.asking,
            variants=now.forms if self._may_say_more else None,
            excluded_at=self.exclusions.written_at if self._may_say_more else None,
            latencies=self._news_of_latencies() if self._may_say_more and not is_masked else (),
        )

    def _news_of_capabilities(self, found: Capabilities) -> Capabilities | None:
        """What the device can do, where that is to be told now: the platform keeps it."""
        is_recent = time.monotonic() - self._capable_at < _CAPABILITIES_S
        return None if found == self._capable and is_recent else found

    def _news_of_latencies(self) -> tuple[Latency, ...]:
        """How quick the device is, where that is to be told now."""
        found = self.latencies.told()[:MAX_LATENCIES]
        is_known = [_what(one) for one in found] == [_what(one) for one in self._told]
        if found == self._told or (is_known and time.monotonic() - self._told_at < _LATENCIES_S):
            return ()
        return found

    def _metadata(self) -> DataMetadata:
        """Without counts by class where profiles have noise, which would hide nothing beside them."""
        classes = () if has_profile_noise(self.peers.standing()) else self.samples.class_counts()
        return DataMetadata(
            samples=self.samples.usable(),
            class_counts=share_counts(classes, self.tell),
            labels=self._labels() if self._may_say_more and self.tell == "counts" else UNSET,
        )

    def _labels(self) -> LabelFacts | UnsetType:
        state, kinds = self.labelling.state(), self.labelling.kinds()
        facts = LabelFacts(
            asked=kinds.get("asked", 0),
            implied=kinds.get("implied", 0),
            unlabelled=self.labelling.count(),
            questions=state.asked,
            answers=state.answered,
        )
        return UNSET if facts == LabelFacts() else facts


def _what(latency: Latency) -> tuple[str, str, str, str]:
    return latency.version, latency.work, latency.form, latency.charging


def _report_of(now: Now) -> Reported:
    return Reported(
        conditions=msgspec.structs.replace(now.conditions, idle="unknown", temperature_c=None),
        blockers=tuple(reason.code for reason in now.blockers),
        assignment=now.progress.assignment if now.progress else None,
        stage=now.progress.stage if now.progress else None,
        version=now.version,
        standing=now.standing,
        asking=now.asking,
        shedding=now.shedding,
    )


def _known_of(now: Now) -> bytes:
    report = _report_of(now)
    return msgspec.json.encode(ReportedState(report.conditions, report.blockers, report.version))
