"""Devices that take part in secure sums, one message at a time, with the product's own protocol."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from nacl.signing import SigningKey

from coterie.rounds import summing
from coterie.secure_sums.identity_log import read_log
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.contribution import Contents, DeviceFigures
from coterie_learning.plan import parse_plan
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.members import decode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.vector import encode_vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, ReadLog, RevealShares, ShareSecrets, SumNews
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32
from tests.coterie.world import MODEL, ScriptedDevice, fleet_of

PLAN = {
    "privacy": {
        "kind": "secure_aggregation",
        "min_devices": 3,
        "corrupted": 0.0,
        "norm": 4.0,
        "bits": 20,
        "step_s": 30,
    },
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
}
"""For a federation of few."""


def masking(plan: Mapping[str, object] = PLAN) -> Masking:
    """How `plan` masks."""
    found = parse_plan({**plan, "pace": {"kind": "sync", "min_updates": 3}}).privacy.masking()
    assert found is not None
    return found


def small_update(seed: int) -> dict[str, Float32]:
    """Numbers in the shape of the model's parameters, of a norm below that of `PLAN`."""
    drawn = np.random.default_rng(seed)
    return {spec.name: drawn.uniform(-0.4, 0.4, spec.shape).astype(np.float32) for spec in MODEL.parameters}


@dataclass
class SummingDevice:
    """A device whose update is ready."""

    device: ScriptedDevice
    seed: int
    assignment: str = ""
    round: int = 1
    state: PartyState | None = None
    identity: SigningKey = field(default_factory=SigningKey.generate)
    plan: Mapping[str, object] = field(default_factory=lambda: PLAN)
    samples: int = 20

    def ask(self, now: datetime) -> SumNews:
        return summing.ask_sum(device=self.device.row, message=AskSum(self.assignment), now=now)

    def act(self, now: datetime) -> str:
        """Ask what to do, and do it; what it was."""
        news = self.ask(now)
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

    def join(self, news: SumNews, now: datetime) -> SumNews:
        read_log(device=self.device.row, message=ReadLog(bytes(self.identity.verify_key), 0), now=now)
        self.state, member = party.join(news.session, str(self.device.row.pk), self.identity)
        return summing.join_sum(device=self.device.row, message=JoinSum(self.assignment, member), now=now)

    def share(self, news: SumNews, now: datetime) -> SumNews:
        assert self.state is not None
        members = member_list(news.session, news.members, news.log_head)
        self.state = party.share(self.state, members, masking(self.plan).terms)
        message = ShareSecrets(self.assignment, self.state.sent)
        return summing.share_secrets(device=self.device.row, message=message, now=now)

    def mask(self, news: SumNews, now: datetime) -> bool:
        """Whether the vector was taken."""
        content = self.masked(news)
        offer = OfferMasked(self.assignment, hashlib.sha256(content).hexdigest(), len(content))
        state = summing.offer_masked(device=self.device.row, message=offer)
        return state.accepted or self.device.send(self.assignment, content[state.offset :], state.offset, now).accepted

    def masked(self, news: SumNews) -> bytes:
        assert self.state is not None
        found = decode_members(self.state.session, self.state.members)
        how = masking(self.plan)
        plan = parse_plan({**PLAN, "pace": {"kind": "sync", "min_updates": 3}})
        payload = Float32Codec().encode(small_update(self.seed), seed=0).payload
        contents = UpdateContents(MODEL, plan.codec, plan.local)
        update = contents.open(InMemory(payload), ())
        what = Contents(MODEL, plan.local, how, members=len(found.members), seed=self.round)
        measured = DeviceFigures(self.samples, 1.5, 1.0, 0.5)
        vector = what.vector(update, measured, {}, seed=self.seed, key=bytes([self.seed]) * 32)
        self.state, vector = party.mask(self.state, news.boxes, vector, how.terms)
        return encode_vector(vector, found.digest)

    def reveal(self, news: SumNews, now: datetime) -> SumNews:
        assert self.state is not None
        self.state, shares = party.reveal(self.state, news.survivors, masking(self.plan).terms)
        return summing.reveal_shares(device=self.device.row, message=RevealShares(self.assignment, shares), now=now)


def trained(count: int, now: datetime, plan: Mapping[str, object] = PLAN) -> list[SummingDevice]:
    """Devices of a fleet of so many, each with an assignment and an update under `plan`."""
    found = []
    devices = fleet_of(count)
    for device in devices:
        device.check_in(now)
    for number, device in enumerate(devices):
        assignment = device.check_in(now).assignment
        assert assignment is not None
        found.append(SummingDevice(device, number, assignment.assignment, assignment.round, plan=plan))
    return found


def together(devices: Sequence[SummingDevice], now: datetime) -> list[str]:
    """Each asks once and does what it is told."""
    return [device.act(now) for device in devices]
