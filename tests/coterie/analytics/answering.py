"""Devices that answer questions, one message at a time, with the product's own protocol."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
import numpy as np
from nacl.signing import SigningKey

from coterie.fleet.models import Device
from coterie.rounds import device_api, uploads
from coterie.secure_sums.identity_log import read_log
from coterie_learning.answers import Encoding
from coterie_learning.question import Question, parse_question
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.members import decode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.vector import encode_vector
from coterie_wire.asking import OfferToAnswer
from coterie_wire.conditions import Reason
from coterie_wire.messages import Capabilities, ReleaseAssignment
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, ReadLog, RevealShares, ShareSecrets, SumNews
from tests.coterie.world import ScriptedDevice, make_device

AGREES = OfferToAnswer(subjects=("classes", "hardware", "problems"), without_noise=True, min_devices=3)


def agreeing(count: int, offer: OfferToAnswer | None = AGREES, *, first: int = 0) -> list["AnsweringDevice"]:
    """Devices whose owners have agreed to `offer`; None: their agents know no questions."""
    found = []
    for number in range(first, first + count):
        row = make_device(f"device-{number}")
        row.capabilities = msgspec.to_builtins(Capabilities(2, 1 << 30, "aarch64 Linux", "0.2.0", answers=offer))
        row.save()
        found.append(AnsweringDevice(ScriptedDevice(row), np.array([number, 1, 0])))
    return found


@dataclass
class AnsweringDevice:
    """A device that is asked, and what it counts."""

    device: ScriptedDevice
    counts: np.ndarray
    answer: str = ""
    question: Question | None = None
    state: PartyState | None = None
    identity: SigningKey = field(default_factory=SigningKey.generate)

    @property
    def row(self) -> Device:
        return self.device.row

    def is_asked(self, now: datetime) -> bool:
        """Whether a check-in brings the question."""
        asked = self.device.say(now).question
        if asked is None:
            return False
        self.answer, self.question = asked.answer, parse_question(asked.question)
        return True

    def act(self, now: datetime) -> str:
        """Ask what to do, and do it; what it was."""
        news = device_api.ask_sum(self.row, AskSum(self.answer), now)
        match news.to_do:
            case "join":
                self.join(news, now)
            case "share":
                self.share(news, now)
            case "mask":
                self.mask(news, now)
            case "reveal":
                self.reveal(news, now)
        return news.to_do

    def join(self, news: SumNews, now: datetime) -> None:
        read_log(device=self.row, message=ReadLog(bytes(self.identity.verify_key), 0), now=now)
        self.state, member = party.join(news.session, str(self.row.pk), self.identity)
        device_api.join_sum(self.row, JoinSum(self.answer, member), now)

    def share(self, news: SumNews, now: datetime) -> None:
        assert self.state is not None
        assert self.question is not None
        members = member_list(news.session, news.members, news.log_head)
        self.state = party.share(self.state, members, self.question.terms)
        device_api.share_secrets(self.row, ShareSecrets(self.answer, self.state.sent), now)

    def mask(self, news: SumNews, now: datetime) -> None:
        assert self.state is not None
        assert self.question is not None
        found = decode_members(self.state.session, self.state.members)
        key = hashlib.sha256(str(self.row.pk).encode()).digest()
        vector = Encoding(self.question, len(found.members)).vector(self.counts, key=key)
        self.state, vector = party.mask(self.state, news.boxes, vector, self.question.terms)
        content = encode_vector(vector, found.digest)
        offer = OfferMasked(self.answer, hashlib.sha256(content).hexdigest(), len(content))
        state = device_api.offer_masked(self.row, offer, now)
        uploads.open_upload(self.row, self.answer, state.offset, now).write(state.offset, content[state.offset :])
        assert uploads.complete_upload(self.row, self.answer, now).accepted

    def reveal(self, news: SumNews, now: datetime) -> None:
        assert self.state is not None
        assert self.question is not None
        self.state, shares = party.reveal(self.state, news.survivors, self.question.terms)
        device_api.reveal_shares(self.row, RevealShares(self.answer, shares), now)

    def decline(self, now: datetime) -> None:
        reason = Reason("privacy.device_budget", "the owner allows no more")
        device_api.release_assignment(self.row, ReleaseAssignment(self.answer, reason), now)


def together(devices: Sequence[AnsweringDevice], now: datetime) -> list[str]:
    """Each asks once and does what it is told."""
    return [device.act(now) for device in devices]
