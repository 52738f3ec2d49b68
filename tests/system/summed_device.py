"""A scripted device's part in secure sums."""

import hashlib
from dataclasses import dataclass, field

import httpx
import msgspec
from nacl.signing import SigningKey

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.contribution import Contents, DeviceFigures
from coterie_learning.kind_names import own_kinds
from coterie_learning.plan import Plan, parse_plan
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.members import decode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.vector import encode_vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_wire.message import Message
from coterie_wire.messages import UploadState
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, ReadLog, RevealShares, ShareSecrets, SumNews
from coterie_wire.tensor_files import InMemory
from tests.system.eventually import eventually
from tests.system.model import SPEC, payload
from tests.system.scripted_device import CAPABILITIES, ScriptedDevice

SUMS = msgspec.structs.replace(CAPABILITIES, agent="0.2.0", kinds=own_kinds())
"""Capabilities of a device that takes part in secure sums."""
PLAN = {
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "privacy": {"kind": "secure_aggregation", "min_devices": 3, "corrupted": 0, "dropped": 0, "step_s": 600},
}
PARSED = parse_plan({**PLAN, "pace": {"kind": "sync", "min_updates": 3}})


@dataclass
class Member:
    """A device in one sum; what it has sent once it sends again, the same."""

    device: ScriptedDevice
    assignment: str
    number: int
    seed: int
    identity: SigningKey
    state: PartyState | None = None
    done: dict[str, Message] = field(default_factory=dict)
    vector: bytes = b""
    plan: Plan = PARSED

    def act(self) -> str:
        """Ask what to do, and do it; what it was."""
        news = self._call(AskSum(self.assignment))
        if news.to_do in ("join", "share", "reveal"):
            if news.to_do not in self.done:
                self.done[news.to_do] = self._prepared(news)
            self._call(self.done[news.to_do])
        elif news.to_do == "mask":
            self._send(self.vector or self._masked(news))
        return news.to_do

    def run(self) -> None:
        """Take part to the end."""
        assert self.ended() == "counted"

    def ended(self) -> str:
        """Take part until its update counts, or the sum is over; which of both."""
        return eventually(lambda: done if (done := self.act()) in ("counted", "over") else None)

    def _call(self, message: Message) -> SumNews:
        news = self.device.call(message)
        assert isinstance(news, SumNews)
        return news

    def _prepared(self, news: SumNews) -> Message:
        masking = self.plan.privacy.masking()
        assert masking is not None
        if news.to_do == "join":
            self.device.call(ReadLog(bytes(self.identity.verify_key), 0))
            self.state, member = party.join(news.session, self.device.id, self.identity)
            return JoinSum(self.assignment, member)
        assert self.state is not None
        if news.to_do == "share":
            self.state = party.share(self.state, member_list(news.session, news.members, news.log_head), masking.terms)
            return ShareSecrets(self.assignment, self.state.sent)
        self.state, shares = party.reveal(self.state, news.survivors, masking.terms)
        return RevealShares(self.assignment, shares)

    def _masked(self, news: SumNews) -> bytes:
        masking = self.plan.privacy.masking()
        assert self.state is not None and masking is not None
        found = decode_members(self.state.session, self.state.members)
        update = UpdateContents(SPEC, self.plan.codec, self.plan.local).open(
            InMemory(payload(self.seed, Float32Codec())), ()
        )
        what = Contents(SPEC, self.plan.local, masking, members=len(found.members), seed=self.number)
        vector = what.vector(update, DeviceFigures(20, 1.5, 1.0, 0.5), {}, seed=self.seed)
        self.state, masked = party.mask(self.state, news.boxes, vector, masking.terms)
        self.vector = encode_vector(masked, found.digest)
        return self.vector

    def _send(self, content: bytes) -> None:
        offer = OfferMasked(self.assignment, hashlib.sha256(content).hexdigest(), len(content))

        def look() -> bool:
            state = self.device.call(offer)
            assert isinstance(state, UploadState)
            try:
                return (
                    state.accepted or self.device.send(self.assignment, content[state.offset :], state.offset).accepted
                )
            except httpx.TransportError:
                return False

        eventually(look)
