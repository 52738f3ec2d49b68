"""Asks for help, merges the portion received, evaluates it on the newest samples, and keeps the better model."""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.peers.fetching import fetch_directly
from coterie_agent.peers.helping import named
from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.peers.reading import found_in
from coterie_agent.sharing import ReportDetail, share_profile
from coterie_agent.store.peers import KeptPortion, Outcome, PeersStore, Reading
from coterie_agent.store.samples import StoredRow
from coterie_learning.client.start import terms_of
from coterie_learning.device_plan import DevicePlan
from coterie_learning.guard import judge
from coterie_learning.portions.payload import decode_portion, merge_portion
from coterie_learning.watch import Request
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.helping import (
    ENDED,
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    HelpNews,
    Portion,
    ReportMerged,
    ReportReceived,
    SampleNoise,
    StandingPlan,
    WithdrawHelp,
)
from coterie_wire.messages import Done
from coterie_wire.relaying import DirectPeer
from coterie_wire.tensors import encode_tensors

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BeingHelped:
    """The receiver's side of a transfer, on the device that requested help."""

    link: HttpLink
    store: PeersStore
    portions: BlobCache
    tell: ReportDetail
    now: Callable[[], float]
    """Unix time."""
    paths: "DirectPaths | None" = None
    """Direct paths to helpers; None: only through the platform."""

    def ask(self, request: Request, asked: Reading, standing: StandingPlan, noise: SampleNoise | None) -> None:
        """Store a help request, made with `noise`, together with the reading `asked` after it, and send it.

        Raises Unreachable or Refused; the request stays stored.
        """
        found = found_in(request.counts)
        profile = share_profile(found, self.tell, batch=asked.batches, drifting=True, willing=False, noise=noise)
        ask = AskHelp(
            request=str(uuid.uuid4()), federation=standing.federation, classes=request.classes, profile=profile
        )
        self.store.ask(ask, asked)
        self.send(ask)

    def send(self, ask: AskHelp) -> HelpNews:
        """Send the request, for the first time or again.

        Raises Unreachable or Refused; a permanent refusal ends the request.
        """
        try:
            return self.link.call(ask, HelpNews)
        except Refused as refusal:
            if not refusal.is_revoked and not is_retryable(refusal):
                self.store.end_request("unanswered", refusal.detail, now=self.now())
            raise

    def withdraw(self, ask: AskHelp) -> None:
        """Withdraw the request, because the device has recovered by itself.

        Raises Unreachable or Refused.
        """
        self.link.call(WithdrawHelp(ask.request), Done)
        self.store.end_request("withdrawn", f"{named(ask.classes)}: recovered without help", now=self.now())

    def end_if_over(self, ask: AskHelp, news: HelpNews) -> bool:
        """End the request here if the platform has ended it without a portion; whether it has."""
        if news.state not in ENDED:
            return False
        sentence = news.reason.sentence if news.reason else news.state
        sentence = f"{named(ask.classes)}: {sentence}"[:400]
        self.store.end_request("unanswered", sentence, now=self.now(), unanswered=news.reason)
        return True

    def fetch(self, portion: Portion, *, stop: Callable[[], bool]) -> bool:
        """Download the portion; False if `stop` returned true before, or the helper is to upload it first.

        Raises Unreachable, Refused or AgentError ``bundle.*``.
        """
        if self.paths is not None and portion.direct is not None:
            return self._fetch_directly(self.paths, portion, portion.direct, stop=stop)
        return self.portions.fetch(
            portion.content, lambda _sha256, offset: self.link.download_portion(portion.transfer, offset), stop=stop
        )

    def _fetch_directly(
        self, paths: "DirectPaths", portion: Portion, helper: DirectPeer, *, stop: Callable[[], bool]
    ) -> bool:
        failed = None
        try:
            is_whole = self.portions.fetch(
                portion.content, lambda _sha256, offset: fetch_directly(paths, portion, helper, offset), stop=stop
            )
        except AgentError as error:
            log.info("the portion comes by the platform: %s", error.detail)
            is_whole, failed = False, Reason("transfer.no_direct_path", error.detail[:400])
        if is_whole or failed is not None:
            self.link.call(ReportReceived(portion.transfer, failed), Done)
        return is_whole

    def evaluate_portion(
        self,
        portion: Portion,
        ask: AskHelp,
        own: PersonalModel,
        plan: DevicePlan,
        newest: Sequence[StoredRow],
        known: Sequence[int],
    ) -> None:
        """Merge a fetched portion into the personal model and keep the better model on the `newest` samples.

        Raises Unreachable, Refused or AgentError ``bundle.*``. A portion that cannot be used is declined.
        """
        payload = self.portions.read(portion.content)
        try:
            terms = terms_of(plan, own.spec, ask.classes)
            merged = merge_portion(terms, own.parameters, decode_portion(terms, payload), known=known)
        except WireError as error:
            self.link.call(DeclineTransfer(portion.transfer, Reason(error.code, error.detail)), Done)
            return
        self.link.call(ReportMerged(portion.transfer), Done)
        labels = np.array([row.label for row in newest], np.int64)
        found = judge(labels, own.predict(newest), own.predict(newest, merged))
        verdict = GiveVerdict(
            transfer=portion.transfer,
            kept=found.kept,
            accuracy_before=found.before,
            accuracy_after=found.after,
            samples=len(labels),
        )
        kept = KeptPortion(portion.transfer, msgspec.json.encode(plan), ask.classes, payload) if found.kept else None
        stored = self.store.judge(verdict, kept, before=own.stored, tensors=encode_tensors(dict(merged)))
        if stored is None:
            return  # a round has changed the personal model meanwhile, so the portion is evaluated again on the new one
        own.stored = stored
        if found.kept:
            own.take(merged)

    def report_verdict(self, verdict: GiveVerdict, ask: AskHelp) -> None:
        """Report the result and end the request.

        Raises Unreachable, and Refused where trying again can help.
        """
        try:
            self.link.call(verdict, Done)
        except Refused as refusal:
            if refusal.is_revoked or is_retryable(refusal):
                raise  # after any other refusal the platform has ended the request, and a kept portion stays
        outcome: Outcome = "kept" if verdict.kept else "undone"
        figures = f"accuracy {verdict.accuracy_before:.3f} without, {verdict.accuracy_after:.3f} with it"
        self.store.end_request(outcome, f"help with {named(ask.classes)} {outcome}: {figures}", now=self.now())
        self.portions.keep_only(())
