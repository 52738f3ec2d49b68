"""Kill the platform in each step of a secure sum: the round's model is that of a quiet run, bit for bit."""

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import ClassVar

import httpx
import msgspec
import pytest
from nacl.signing import SigningKey

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.contribution import Contents, Measured
from coterie_learning.kind_names import own_kinds
from coterie_learning.plan import parse_plan
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.members import decode_members, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.vector import encode_vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_wire.message import Message
from coterie_wire.messages import Capabilities, UploadState
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, ReadLog, RevealShares, ShareSecrets, SumNews
from coterie_wire.tensor_files import InMemory
from tests.system.cohort import DEVICES, Cohort
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import SPEC, payload
from tests.system.scripted_device import CAPABILITIES, ScriptedDevice

RANDOM_KILLS = 4
PLAN = {
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "privacy": {"kind": "secure_aggregation", "min_devices": 3, "corrupted": 0, "dropped": 0, "step_s": 600},
}
PARSED = parse_plan({**PLAN, "pace": {"kind": "sync", "min_updates": 3}})
STEPS = ("join", "share", "mask", "reveal")


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
        eventually(lambda: self.act() == "counted")

    def _call(self, message: Message) -> SumNews:
        news = self.device.call(message)
        assert isinstance(news, SumNews)
        return news

    def _prepared(self, news: SumNews) -> Message:
        masking = PARSED.privacy.masking()
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
        masking = PARSED.privacy.masking()
        assert self.state is not None and masking is not None
        found = decode_members(self.state.session, self.state.members)
        update = UpdateContents(SPEC, PARSED.codec, PARSED.local).open(InMemory(payload(self.seed, Float32Codec())), ())
        what = Contents(SPEC, PARSED.local, masking, members=len(found.members), seed=self.number)
        vector = what.vector(update, Measured(20, 1.5, 1.0, 0.5), {}, seed=self.seed)
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


class SumCohort(Cohort):
    """Its devices' updates are summed under masks."""

    capabilities: ClassVar[Capabilities] = msgspec.structs.replace(CAPABILITIES, agent="0.2.0", kinds=own_kinds())

    def __init__(self, site: Site, name: str) -> None:
        super().__init__(site, name, plan=PLAN)
        self.identities = [SigningKey.generate() for _ in self.devices]

    def begun(self, number: int) -> list[Member]:
        """Round `number`, in which nobody has joined yet."""
        parts = zip(self.devices, self.open_round(number), self.identities, strict=True)
        return [
            Member(device, assignment, number, 100 * number + index, identity)
            for index, (device, assignment, identity) in enumerate(parts)
        ]

    def hold(self, number: int) -> None:
        members = self.begun(number)
        with ThreadPoolExecutor(DEVICES) as pool:
            list(pool.map(Member.run, members))
        self.published[number] = self.parameters_after(number)


@pytest.fixture(scope="module")
def disturbed(site: Site) -> Iterator[SumCohort]:
    with closing(SumCohort(site, "disturbed-sums")) as cohort:
        yield cohort


@pytest.fixture(scope="module")
def quiet(site: Site) -> Iterator[SumCohort]:
    with closing(SumCohort(site, "quiet-sums")) as cohort:
        yield cohort


def assert_as_quiet(disturbed: SumCohort, quiet: SumCohort, number: int) -> None:
    while (turn := quiet.planned_round()) <= number:
        quiet.hold(turn)
    assert disturbed.published[number] == quiet.published[number]


@pytest.mark.parametrize(("step", "everything"), [("join", False), ("share", True), ("mask", False), ("reveal", True)])
@pytest.mark.long
def test_killed_when_some_have_taken_a_step(
    disturbed: SumCohort, quiet: SumCohort, step: str, everything: bool
) -> None:
    number = disturbed.planned_round()
    members = disturbed.begun(number)
    kill: Callable[[], None] = disturbed.site.platform.kill_all if everything else disturbed.site.platform.kill_server
    for taken in STEPS[: STEPS.index(step)]:
        for member in members:
            eventually(lambda member=member, taken=taken: member.act() == taken)  # type: ignore[misc]
    eventually(lambda: members[0].act() == step)
    kill()
    with ThreadPoolExecutor(DEVICES) as pool:
        list(pool.map(Member.run, members))
    disturbed.published[number] = disturbed.parameters_after(number)
    assert_as_quiet(disturbed, quiet, number)


def test_killed_at_random_moments(disturbed: SumCohort, quiet: SumCohort) -> None:
    moments = random.Random(11)
    number = disturbed.planned_round()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(disturbed.hold, number)
        for _ in range(RANDOM_KILLS):
            time.sleep(moments.uniform(0, 1))  # waits for nothing: any moment is as good
            disturbed.site.platform.kill_server()
        held.result()
    assert_as_quiet(disturbed, quiet, number)
