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
from coterie_agent.sharing import ReportDetail, has_profile_noise, share_counts
from coterie_agent.situation import Now, Situation, waits_for_window
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
"""Least seconds between check-ins, even if the platform asks for shorter intervals."""
_CAPABILITIES_S = 3600.0
"""Seconds after which unchanged capabilities are reported again."""
_LATENCIES_S = 600.0
"""Least seconds between two reports of latencies, unless something was measured for the first time."""


class Caller(Protocol):
    """A link over which messages are sent. Raises Unreachable or Refused."""

    def call(self, message: Message, reply: type[R]) -> R: ...


class Socket(Caller, Protocol):
    """A link that stays open."""

    @property
    def spread_s(self) -> float:
        """Width in seconds of the window in which the device reconnects after the platform has closed the socket."""

    def close(self) -> None: ...


OpenSocket = Callable[[Callable[[], None], Callable[[], None]], Socket]
"""Opens a socket that calls its first argument when the platform has news, its second when it has closed."""


class ReportedState(msgspec.Struct, frozen=True):
    """What the platform knows of the device before its first check-in after a restart."""

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
    tell: ReportDetail
    peer_key: bytes | None = None
    """This device's public key, by which other devices recognise it."""
    leads: OfferToLead | None = None
    """The offer to serve as a supernode; None: the owner does not allow it."""
    meets: OfferToMeet | None = None
    """The offer to take part in gossip meetings; None: the owner does not allow it."""
    answers: OfferToAnswer | None = None
    """The questions that the owner lets the device answer; None: no question."""
    platform_offer: PlatformOfferStore
    opens_paths: bool = False
    """Whether the owner allows direct paths to other devices."""
    asks_platform: bool = False
    """Whether the owner lets samples be sent to the platform for a prediction."""
    certifies: bool = False
    """Whether its connections can show a certificate: they are TLS."""
    takes_updates: TakesUpdates | None = None
    """Whether the agent installs other releases of itself."""
    sends_log: SendsLog | None = None
    """Whether the owner lets the device's log be sent."""
    rng: random.Random = field(default_factory=random.SystemRandom)

    def __post_init__(self) -> None:
        self._socket: Socket | None = None
        self._socket_backoff, self._socket_at = Backoff(), 0.0
        self._backoff = Backoff()
        self._due_at = self._not_before = 0.0  # on the monotonic clock
        self._reported: tuple[Reported, int] | None = None
        self._ignores_unknown = False
        self._hides = True  # until the platform says that no plan hides what devices measure
        self._reported_latencies: tuple[Latency, ...] = ()
        self._latencies_reported_at = 0.0
        self._reported_capabilities: Capabilities | None = None  # since the contact with the platform began
        self._capabilities_reported_at = 0.0
        self._spread_s = 0.0  # width of the check-in window that the platform sent, in a large fleet
        self._known_state: bytes | None = None  # known to the platform before the first check-in since the start

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        self._restore_schedule()
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

    def _restore_schedule(self) -> None:
        """Check in at the time drawn before the agent was stopped, unless there is an unfinished assignment."""
        scheduled = self.check_ins.find()
        if scheduled is None:
            return
        self._spread_s, self.check_in_s = scheduled.spread_s, scheduled.interval_s
        left_s = scheduled.due_at - time.time()
        if left_s <= 0 or self.work.current() is not None:
            return
        left_s = min(left_s, scheduled.longest_s)  # where the clock was set back
        self._due_at = self._socket_at = time.monotonic() + left_s
        self._known_state = scheduled.said
        self.situation.link("offline", waits_for_window(left_s))

    def _has_news(self, now: Now) -> bool:
        if self._known_state is not None:
            return _reported_state(now) != self._known_state
        return (_report_of(now), now.wakes) != self._reported

    def _connect(self) -> None:
        try:
            self._socket = self.open_socket(self.situation.wake, self._on_socket_closed)
        except AgentError as error:
            self._socket_backoff = self._socket_backoff.failed()
            self._socket_at = time.monotonic() + self._delay_s(self._socket_backoff)
            log.debug("%s", error.detail)
        else:
            # News may have been missed meanwhile: check in at once. The platform may be one restored from a backup.
            self._socket_backoff, self._reported, self._reported_capabilities = Backoff(), None, None

    def _on_socket_closed(self) -> None:
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
                self._drop_socket()  # over HTTPS the device requests another certificate, then reconnects
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
            self._due_at = at + self._next_check_in_s(directive, now)
            self._backoff, self._reported, self._known_state = Backoff(), reported, None
            if message.capabilities is not None:
                self._reported_capabilities, self._capabilities_reported_at = message.capabilities, at
            if message.latencies:
                self._reported_latencies, self._latencies_reported_at = message.latencies, at
            if self.situation.now.link == "offline":
                log.info("in contact with the platform over %s", "the socket" if self._socket else "HTTPS")
                self._socket_backoff = Backoff()
            if directive.ignores_unknown and not self._ignores_unknown:
                # Check in again immediately, with the fields that release 0.1 refuses and what no plan hides.
                self._ignores_unknown, self._reported = True, None
            self._hides = directive.hides
            if directive.hides:
                self.work.hide()
            self._follow_keys(directive)
            # Before any thread acts on the answer: a round must not begin with a personal model that is to be removed.
            if directive.withdrawn and self.peers.undo_personal_of(directive.withdrawn):
                log.info("the personal model came from a version that was rolled back, and is what it was before")
            self._receive_exclusions(directive)
            if directive.federations is not None:
                self.agreements.keep_only(directive.federations)
                self.promises.keep_only(directive.federations)
            if directive.requirements is None:  # the device is in no federation
                self.work.leave_federations()
            self.platform_offer.hold(directive.platform_answers if self.asks_platform else None)
            self.situation.link("socket" if self._socket else "https")
            self.situation.set_directive(directive, at=at)
            is_certified = directive.renew_certificate and self.certifying.certify()
            if (directive.renew_credential and self.renewing.renew()) or is_certified:
                self._reconnect()

    def _next_check_in_s(self, directive: Directive, now: Now) -> float:
        """Seconds until the next check-in, drawn at random so that the check-ins of a fleet are spread."""
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
                said=_reported_state(now),
            )
        )
        return wait_s

    def _follow_keys(self, directive: Directive) -> None:
        """Trust the platform's next keys before reading the rest of `directive`, which the last of them has signed."""
        if not directive.next_keys:
            return
        try:
            if self.identity.follow(directive.next_keys):
                log.warning("the platform signs with another key now, which the one before has named")
        except WireError as error:
            log.error("the platform names a key that its own did not sign: %s [%s]", error.detail, error.code)

    def _receive_exclusions(self, directive: Directive) -> None:
        """Take over the list of excluded devices, before `directive` names any peers."""
        if directive.excluded is None:
            return
        try:
            self.exclusions.receive(directive.excluded)
        except WireError as error:
            log.error("the platform's list of excluded devices is not its own: %s [%s]", error.detail, error.code)

    def _reconnect(self) -> None:
        """Reconnect and check in with the new credential; that check-in ends the former one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._socket_at, self._reported = None, 0.0, None

    def _drop_socket(self) -> None:
        """Fall back to HTTPS: immediately, or within a window where the platform's process ended for many devices."""
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
        """Seconds until the next try; in a large fleet as after an answer, so that an outage does not synchronise
        devices."""
        if self._spread_s:
            return self.rng.uniform(0.5, 1.5) * self.check_in_s
        return backoff.delay_s(longest_s=self.check_in_s, rng=self.rng)

    def _failed(self, error: AgentError) -> None:
        self._reported_capabilities = None
        self._backoff = self._backoff.failed()
        self._not_before = time.monotonic() + self._delay_s(self._backoff)
        if self.situation.now.link_problem is None:
            log.warning("no contact with the platform: %s; trying again", error.detail)
        self.situation.link("offline", reason_of(error))

    def _message(self, now: Now) -> CheckIn:
        """The check-in message.

        Where a plan hides in a sum what devices measure, the check-in leaves out the numbers of samples (in all and by
        class), the numbers of steps and the latencies. They are left out until the platform has said that no plan of
        the device's federations hides them, and then until the device accepts an assignment of another plan.
        """
        is_masked = self._hides or self.work.is_masked()
        progress = now.progress
        if is_masked and progress is not None:
            progress = msgspec.structs.replace(progress, steps_done=0, steps_total=0)
        step_s = None if is_masked else self.journal.measurement("train_step_s")
        capabilities = msgspec.structs.replace(self.capabilities, train_step_s=step_s)
        if self._ignores_unknown:
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
            capabilities=self._capabilities_to_report(capabilities),
            standing=now.standing,
            help=now.asking,
            variants=now.forms if self._ignores_unknown else None,
            excluded_at=self.exclusions.written_at if self._ignores_unknown else None,
            latencies=self._latencies_to_report() if self._ignores_unknown and not is_masked else (),
        )

    def _capabilities_to_report(self, found: Capabilities) -> Capabilities | None:
        """The capabilities to report in this check-in; None where the platform has them already."""
        is_recent = time.monotonic() - self._capabilities_reported_at < _CAPABILITIES_S
        return None if found == self._reported_capabilities and is_recent else found

    def _latencies_to_report(self) -> tuple[Latency, ...]:
        """The latencies to report in this check-in; empty if they are unchanged or were reported recently."""
        found = self.latencies.reportable()[:MAX_LATENCIES]
        is_known = [_key_of(one) for one in found] == [_key_of(one) for one in self._reported_latencies]
        if found == self._reported_latencies or (
            is_known and time.monotonic() - self._latencies_reported_at < _LATENCIES_S
        ):
            return ()
        return found

    def _metadata(self) -> DataMetadata:
        """The sample counts; none by class where profiles have noise, as exact counts beside them would undo it."""
        classes = () if has_profile_noise(self.peers.effective_plan()) else self.samples.class_counts()
        return DataMetadata(
            samples=self.samples.usable(),
            class_counts=share_counts(classes, self.tell),
            labels=self._labels() if self._ignores_unknown and self.tell == "counts" else UNSET,
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


def _key_of(latency: Latency) -> tuple[str, str, str, str]:
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


def _reported_state(now: Now) -> bytes:
    report = _report_of(now)
    return msgspec.json.encode(ReportedState(report.conditions, report.blockers, report.version))
