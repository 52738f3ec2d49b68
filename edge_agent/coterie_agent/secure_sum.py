"""One device's part in a secure sum, over the network: ask for the next step, do it, and repeat until the sum is over.

The result of a step is stored before it is sent, so that a device that is stopped sends the same bytes again: above
all the masked vector, which is computed only once. The protocol (`coterie_learning.secure_sum.party`) decides what to
refuse; the unmasked update never leaves the device.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from nacl.signing import SigningKey

from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Situation
from coterie_agent.store.identity_log import IdentityLogStore
from coterie_agent.store.secure_sum import Remembered, SecureSumStore
from coterie_agent.upload import UploadInParts
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.identities import EMPTY, check_logged, next_head
from coterie_learning.secure_sum.members import MemberList, decode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Vector, encode_vector
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.message import Message
from coterie_wire.secure_sum import (
    AskSum,
    JoinSum,
    LogEntries,
    OfferMasked,
    ReadLog,
    RevealShares,
    ShareSecrets,
    SumNews,
)
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_SHORTEST_S = 0.1
"""Least seconds between two polls, even if the platform asks for shorter intervals."""


@dataclass(frozen=True, kw_only=True)
class SecureSum:
    """The sum that one assignment's update, or the answer to a question, goes into."""

    assignment: str
    device: str
    identity: SigningKey
    terms: SumTerms
    """What the plan promises; the device checks every term."""
    vector: Callable[[int], Vector]
    """What the device adds to a sum of so many members."""
    link: HttpLink
    store: SecureSumStore
    log: IdentityLogStore
    situation: Situation
    report_wait: Callable[[Reason | None], None]
    """Called with what the sum waits for; None: it does not wait."""
    chunk_bytes: int

    def run(self) -> SumNews | Refused | None:
        """How the sum ended for the device: ``counted``, ``over``, or the platform's final refusal; None: interrupted.

        Raises Unreachable, and Refused where trying again can help or the device's credential has ended; AgentError
        ``agent.sum_damaged`` or ``agent.log_damaged``, WireError ``secure_sum.*``, and what `vector` raises.
        """
        try:
            return self._run()
        except Refused as refusal:
            if refusal.is_revoked or is_retryable(refusal):
                raise
            return refusal
        finally:
            self.report_wait(None)

    def _run(self) -> SumNews | Refused | None:
        wakes, news, done = self.situation.now.wakes, self._ask(), None
        while not self.situation.is_offline():
            match news.to_do:
                case "counted" | "over":
                    return news
                case "wait":
                    self.report_wait(news.reason)
                    self._wait(wakes, max(news.again_s, _SHORTEST_S))
                    wakes, news, done = self.situation.now.wakes, self._ask(), None
                case to_do if to_do == done:
                    raise Unreachable(f"the platform asks the device to {to_do} once more, at once")
                case to_do:
                    self.report_wait(None)
                    wakes = self.situation.now.wakes
                    answer = self._mask(news) if to_do == "mask" else self._call(self._prepared(news))
                    if not isinstance(answer, SumNews):
                        return answer
                    log.info("secure sum: %s done", to_do)
                    news, done = answer, to_do
        return None

    def _ask(self) -> SumNews:
        return self._call(AskSum(self.assignment))

    def _call(self, message: Message) -> SumNews:
        return self.link.call(message, SumNews)

    def _wait(self, wakes: int, longest_s: float) -> None:
        """Wait until the platform has news, the device may not use the network, or `longest_s` seconds have passed."""
        until = time.monotonic() + longest_s
        while (
            not self.situation.is_offline()
            and (now := self.situation.now).wakes == wakes
            and (left := until - time.monotonic()) > 0
        ):
            self.situation.wait(now.edition, left)

    def _prepared(self, news: SumNews) -> Message:
        """The answer to `news`; the state that it is computed from is stored."""
        if news.to_do == "join":
            self._on_sound_log(self._read_log)
            return JoinSum(self.assignment, party.entry(self._joined(news.session), self.identity))
        state, _ = self._state(news)
        if news.to_do == "share":
            state = party.share(state, self._on_sound_log(lambda: self._members(news)), self.terms)
            self._keep(state)
            return ShareSecrets(self.assignment, state.sent)
        revealed = party.reveal(state, news.survivors, self.terms)
        self._keep(revealed.state)
        return RevealShares(self.assignment, revealed.shares)

    def _members(self, news: SumNews) -> MemberList:
        """The member list, checked: every member's identity is in the log as this device has read it.

        Raises WireError ``secure_sum.other_log``, ``secure_sum.unknown_identity`` or what `member_list` raises.
        """
        if self.log.length() < news.log_length:
            self._read_log()
        if self.log.head(news.log_length) != news.log_head:
            detail = f"the platform's log of {news.log_length} identities is another than this device has read"
            raise WireError("secure_sum.other_log", detail)
        devices = [member.device for member in news.members]
        check_logged(news.members, self.log.identities(devices, length=news.log_length))
        return member_list(news.session, news.members, news.log_head)

    def _read_log(self) -> None:
        """Read the log entries that the device lacks; its own is then among them.

        Raises WireError ``secure_sum.other_log`` where the log has changed, has become shorter or has a device twice.
        """
        while True:
            known, end = self.log.length(), self.log.end()
            news = self.link.call(ReadLog(bytes(self.identity.verify_key), known), LogEntries)
            heads: list[bytes] = []
            head = end.head if known == end.length else self.log.head(known) or EMPTY
            for position, entry in enumerate(news.entries, start=known + 1):
                head = next_head(head, entry.device, entry.identity)
                heads.append(head)
                if position == end.length and head != end.head:
                    raise WireError("secure_sum.other_log", f"the log of {position} identities is another than before")
            if news.length < max(end.length, known + len(heads)) or (not heads and news.length > known):
                detail = f"the log of identities has {news.length} entries, of {end.length}"
                raise WireError("secure_sum.other_log", detail)
            devices = {entry.device for entry in news.entries}
            if len(devices) < len(heads) or self.log.identities(devices, length=known):
                raise WireError("secure_sum.other_log", "the log of identities has a device twice")
            self.log.append(news.entries, heads, after=known)
            if self.log.length() >= news.length:
                return

    def _on_sound_log(self, step: Callable[[], _Result]) -> _Result:
        """Run `step`; where it fails, remove the damaged part of the log, which is read again, and run it once more.

        Raises AgentError ``agent.log_damaged``, and what `step` does.
        """
        try:
            return step()
        except WireError:
            if damaged := self.log.mend():
                log.warning("the log of identities was damaged on the disk; %d entries are read again", damaged)
            return step()

    def _joined(self, session: str) -> PartyState:
        """The state of the sum `session`, joined unless it was joined before.

        A sum that failed before this device had masked its vector may be followed by another: no vector was sent.
        """
        held = self.store.find(self.assignment)
        if held is not None:
            state = from_json(held.state, PartyState)
            if state.session == session:
                return state
            if held.offer is not None:
                raise WireError("secure_sum.out_of_order", "the device has masked its vector for another sum before")
        state = party.join(session, self.device, self.identity).state
        self._keep(state)
        return state

    def _mask(self, news: SumNews) -> SumNews | Refused | None:
        """Upload the masked vector, computed unless it is stored; None: interrupted."""
        state, held = self._state(news)
        offer = held.offer or self._masked(state, news)
        self.store.check_vector(offer)
        outcome = UploadInParts(
            link=self.link, offer=offer, read=self.store.read_vector, chunk_bytes=self.chunk_bytes
        ).run(stop=self.situation.is_offline)
        if outcome == "stopped":
            return None
        return outcome if isinstance(outcome, Refused) else self._ask()

    def _masked(self, state: PartyState, news: SumNews) -> OfferMasked:
        if not state.members:
            raise WireError("secure_sum.out_of_order", "vectors are masked after shares were sent")
        found = decode_members(state.session, state.members)
        masked = party.mask(state, news.boxes, self.vector(len(found.members)), self.terms)
        encoded = encode_vector(masked.vector, found.digest)
        return self.store.keep_vector(self.assignment, msgspec.json.encode(masked.state), encoded)

    def _state(self, news: SumNews) -> tuple[PartyState, Remembered]:
        """The decoded and the stored state of the sum that `news` is about."""
        held = self.store.find(self.assignment)
        state = None if held is None else from_json(held.state, PartyState)
        if held is None or state is None or state.session != news.session:
            raise WireError(
                "secure_sum.out_of_order", f"the device is to {news.to_do}, in a sum that it has not joined"
            )
        return state, held

    def _keep(self, state: PartyState) -> None:
        self.store.keep(self.assignment, msgspec.json.encode(state))
