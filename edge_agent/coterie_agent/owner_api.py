"""What the owner's page asks of the running agent."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from coterie_agent.budget_consent import Agreed, BudgetConsent
from coterie_agent.config import Config
from coterie_agent.consent import Consent, ConsentPart, parts_of
from coterie_agent.device_log.owner_view import LogDecision, LogsView, logs_view, record_decision
from coterie_agent.errors import AgentError, Exit
from coterie_agent.exporting import DeviceExport, export_device, read_section
from coterie_agent.forgetting import Forgetter
from coterie_agent.home import Home
from coterie_agent.link.http import HttpLink, RecordSent
from coterie_agent.model import held_manifest
from coterie_agent.report import Report, make_report
from coterie_agent.site import RequestError, Route, decode
from coterie_agent.situation import Situation
from coterie_agent.store.agreements import Agreement, AskedOfOwner, How
from coterie_agent.store.choices import Choices
from coterie_agent.store.opened import Store
from coterie_agent.updating.owner_view import UpdateDecision, UpdatesView, record_update_decision, updates_view
from coterie_learning.consent import WORDS
from coterie_wire.conditions import Requirements
from coterie_wire.errors import WireError
from coterie_wire.leaving import Covered
from coterie_wire.messages import Done, Leave
from coterie_wire.owning import ForgetNews
from coterie_wire.sent_fields import disclosures_in

RECEIPTS = "receipts"


class Learned(msgspec.Struct, frozen=True):
    """The model that the device holds."""

    version: int
    labels: tuple[str, ...]
    """What it tells apart."""


class SentTold(msgspec.Struct, frozen=True):
    """What one field of something that was sent tells, and who can read it."""

    what: str
    local_noise: Covered
    """Under a plan with noise of the device's own."""
    masked: Covered
    """Under a plan with secure sums."""


class ConsentQuestion(msgspec.Struct, frozen=True):
    """What a federation asks beyond what the owner has agreed to."""

    asked: AskedOfOwner
    words: tuple[str, ...]
    """What the owner reads of each of its scopes."""


class OwnerView(msgspec.Struct, frozen=True):
    """``GET /owner``: all that the page shows but receipts."""

    at: float
    """Unix time."""
    report: Report
    learned: Learned | None
    """None: it holds no model yet."""
    settings: Requirements
    """The owner's, of agent.toml."""
    choices: Choices
    """The owner's, of this page."""
    told: Mapping[str, tuple[SentTold, ...]]
    """What is in each kind of `report.sent`, field by field."""
    is_masked: bool
    """Whether the plan that it works under, or worked under last, has secure sums."""
    sends_samples: bool
    """Whether the owner lets samples go to the platform that the device's own model does not answer."""
    shows_samples: bool
    """Whether the owner lets the page show samples on his phone."""
    answered_for: str | None
    """The federation that has the platform answer them; None: none does."""
    updates: UpdatesView
    """The agent itself."""
    questions: tuple[ConsentQuestion, ...]
    """What federations ask beyond what the owner has agreed to."""
    agreed: tuple[Agreement, ...]
    """What he has, oldest first."""
    parts: tuple[ConsentPart, ...]
    """What of it he can take back, or has taken back."""
    logs: LogsView
    """Its log."""


class Receipts(msgspec.Struct, frozen=True):
    """``GET /receipts``: what left the device to be learned from and what became of it, as the platform says."""

    receipts: tuple[msgspec.Raw, ...]


class Left(msgspec.Struct, frozen=True):
    """``POST /leave``."""

    url: str


class Agreeing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /agree``: the owner's word that a federation may tell what it asks for."""

    federation: Annotated[str, Meta(max_length=100)]


class OfPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /take-back`` and ``POST /give-again``."""

    part: Annotated[str, Meta(max_length=120)]
    """As of `OwnerView.parts`."""


class ChangePart(Protocol):
    """Takes a part back, or gives it again."""

    def __call__(self, part: str, *, how: How) -> Agreement: ...


class Confirmation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /leave`` and ``POST /forget``: the owner's word, so that no request does it by mistake."""

    name: Annotated[str, Meta(max_length=100)]
    """Of the device."""


@dataclass(kw_only=True)
class OwnerApi:
    """What the routes do."""

    home: Home
    config: Config
    store: Store
    situation: Situation
    link: HttpLink
    record_sent: RecordSent
    parted: bool = False
    """The device has left the platform; what is here of it goes when the agent has stopped."""

    def routes(self) -> Mapping[str, Route]:
        return {
            "GET /owner": self.view,
            "GET /receipts": self.receipts,
            "GET /export": self.export,
            "POST /choices": self.choose,
            "POST /agree": self.agree,
            "POST /consent": self.consent,
            "POST /take-back": self.take_back,
            "POST /give-again": self.give_again,
            "POST /updates": self.decide_update,
            "POST /logs": self.decide_log_request,
            "POST /leave": self.leave,
            "POST /forget": self.forget,
        }

    def view(self, _: bytes) -> OwnerView:
        report = make_report(self.home, self.store)
        offer = self.store.platform_offer.load()
        return OwnerView(
            at=time.time(),
            report=report,
            learned=self._learned(),
            settings=self.config.policy,
            choices=self.store.choices.load(),
            told={sent.what: tuple(SentTold(*told) for told in disclosures_in(sent.what)) for sent in report.sent},
            is_masked=self.store.work.is_masked(),
            sends_samples=self.config.platform.send_samples,
            shows_samples=self.config.page.on_network and self.config.page.show_samples,
            answered_for=None if offer is None else offer.federation,
            updates=updates_view(self.home, self.config.updates, self.situation.now),
            questions=tuple(
                ConsentQuestion(one, tuple(WORDS[scope] for scope in one.scopes)) for one in report.consent.asked
            ),
            agreed=self.store.agreements.editions(),
            parts=parts_of(self.store.agreements, federations=self._federations()),
            logs=logs_view(self.config.logs, self.store.log_requests),
        )

    def receipts(self, _: bytes) -> Receipts:
        """Raises Unreachable or Refused."""
        return Receipts(read_section(self.link, RECEIPTS))

    def export(self, _: bytes) -> DeviceExport:
        """Raises Unreachable or Refused."""
        return export_device(self.home, self.store, self.config, link=self.link)

    def choose(self, body: bytes) -> Choices:
        chosen = decode(body, Choices)
        self.store.choices.save(chosen)
        return chosen

    def agree(self, body: bytes) -> Agreed:
        """Agree that a federation may tell more. Raises RequestError ``privacy.nothing_asked``."""
        federation = decode(body, Agreeing).federation
        try:
            budget = BudgetConsent(self.config.privacy, self.store.promises).agree(federation)
        except AgentError as error:
            raise RequestError(HTTPStatus.CONFLICT, error.code, error.detail) from error
        return Agreed(federation, budget.epsilon, budget.delta)

    def consent(self, body: bytes) -> Agreement:
        """Agree to what a federation's plan asks, as it was shown. Raises RequestError ``owner.nothing_asked``."""
        shown = decode(body, AskedOfOwner)
        try:
            agreement = self._consent().agree(shown, how="page")
        except AgentError as error:
            raise RequestError(HTTPStatus.CONFLICT, error.code, error.detail) from error
        self.situation.wake()  # what waits for it goes on
        return agreement

    def take_back(self, body: bytes) -> Agreement:
        """Take back a part of what was agreed to.

        Raises RequestError ``owner.unknown_part`` or ``owner.nothing_agreed``.
        """
        return self._change(body, self._consent().take_back)

    def give_again(self, body: bytes) -> Agreement:
        """Give it again. Raises RequestError ``owner.unknown_part`` or ``owner.not_taken_back``."""
        return self._change(body, self._consent().give_again)

    def _change(self, body: bytes, change: ChangePart) -> Agreement:
        part = decode(body, OfPart).part
        try:
            agreement = change(part, how="page")
        except AgentError as error:
            raise RequestError(HTTPStatus.CONFLICT, error.code, error.detail) from error
        self.situation.wake()  # the platform hears of it at once
        return agreement

    def _consent(self) -> Consent:
        return Consent(self.config.consent, self.store.agreements)

    def _federations(self) -> tuple[str, ...]:
        """Those that the device is in, as the platform said last."""
        directive = self.situation.now.directive
        return () if directive is None or directive.federations is None else directive.federations

    def decide_update(self, body: bytes) -> UpdatesView:
        """Take the owner's word on releases of the agent. Raises RequestError ``updates.not_offered``."""
        record_update_decision(self.home, decode(body, UpdateDecision), self.situation.now)
        self.situation.wake()  # what waits for it goes on
        return updates_view(self.home, self.config.updates, self.situation.now)

    def decide_log_request(self, body: bytes) -> LogsView:
        """Take the owner's word on a request for the log. Raises RequestError ``logs.not_asked``."""
        record_decision(self.store.log_requests, decode(body, LogDecision))
        return logs_view(self.config.logs, self.store.log_requests)

    def leave(self, body: bytes) -> Left:
        """Leave the platform; the samples stay. Raises Unreachable or Refused."""
        self._check(decode(body, Confirmation))
        url = self.store.identity.get().url
        self.link.call(Leave(), Done)
        self.home.receipt.unlink(missing_ok=True)  # of an earlier request to forget that never arrived
        self._part("agent.left", "its owner has had this device leave the platform")
        return Left(url)

    def forget(self, body: bytes) -> ForgetNews:
        """Leave the platform and be forgotten there. Raises Unreachable or Refused."""
        self._check(decode(body, Confirmation))
        forgetter = Forgetter(
            home=self.home, store=self.store, ca_file=self.config.ca_file, record_sent=self.record_sent
        )
        news = forgetter.ask()
        self._part("agent.forgotten", "its owner has had this device forgotten")
        return news

    def _check(self, asked: Confirmation) -> None:
        name = self.store.identity.get().name
        if asked.name != name:
            detail = f"this device is called {name!r}, not {asked.name!r}"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "local_api.wrong_name", detail)

    def _part(self, code: str, sentence: str) -> None:
        self.parted = True
        self.situation.end(AgentError(code, sentence, exit_code=Exit.NOT_JOINED))

    def _learned(self) -> Learned | None:
        try:
            manifest = held_manifest(self.store)
        except (AgentError, WireError):  # it holds none, or a damaged one, which comes again
            return None
        return Learned(manifest.number, manifest.labels)
