"""Devices of one site whose updates meet at a supernode; messages between them are passed by hand."""

import hashlib
from datetime import datetime

import msgspec

from coterie.core.identity import verify_key
from coterie.rounds.supernode_receipts import record_receipt
from coterie_agent.relay.handler import RelayHandler
from coterie_agent.training.fingerprints import fingerprints_of
from coterie_wire.messages import Assignment, Capabilities, OfferUpdate, UploadState
from coterie_wire.relaying import (
    HandedOver,
    HandIn,
    HandOver,
    OfferToLead,
    SignedReceipt,
    public_key,
    read_with_body,
    seal,
    unseal,
    with_body,
)
from tests.coterie.world import ScriptedDevice, make_device

SAMPLES = (3, 2, 80, 5)
"""Of a supernode and its neighbours; one is capped by the median of all."""


class Neighbour(ScriptedDevice):
    """A device that knows how to deal with others."""

    def __init__(
        self,
        name: str,
        place: int,
        *,
        leads: bool = False,
        tags: tuple[str, ...] = ("site:a",),
        sums: bool = True,
        islands: bool = False,
        paths: bool = False,
    ) -> None:
        super().__init__(make_device(name, tags=tags))
        self.secret = bytes([place + 1]) * 32
        self.samples = SAMPLES[place % len(SAMPLES)]
        offer = OfferToLead(address="127.0.0.1:8717", members=10, sums=sums, islands=islands) if leads else None
        told = Capabilities(
            cores=4,
            memory_bytes=1 << 30,
            machine="aarch64 Linux",
            agent="0.2.0",
            peer_key=public_key(self.secret),
            relay=offer,
            paths=paths,
        )
        self.row.capabilities = msgspec.to_builtins(told)
        self.row.save()

    def assignment(self, now: datetime) -> Assignment:
        found = self.say(now).assignment
        assert found is not None
        return found

    def announce(self, now: datetime, *, seed: int) -> tuple[Assignment, bytes, UploadState]:
        """Offer an update to the platform, as a device does before it sends it anywhere."""
        assignment, payload = self.assignment(now), self.payload(seed)
        facts = {"samples": self.samples, "steps_done": 500, "steps_total": 500}
        return assignment, payload, self.offer(assignment.assignment, payload, now, **facts)

    def deliver_directly(self, now: datetime, *, seed: int) -> None:
        assignment, payload, _ = self.announce(now, seed=seed)
        assert self.send(assignment.assignment, payload, 0, now).accepted

    def hand_over(self, desk: RelayHandler, assignment: Assignment, payload: bytes) -> HandedOver:
        assert assignment.route is not None
        told = HandOver(sha256=hashlib.sha256(payload).hexdigest(), size_bytes=len(payload), offset=0)
        sealed = seal(with_body(told, payload), secret=self.secret, to=assignment.route.key)
        answer = desk.receive(desk.admit(with_body(assignment.route.ticket)), sealed)
        opened = unseal(answer, secret=self.secret, by=assignment.route.key)
        return read_with_body(opened, HandedOver)[0]

    def message(self, assignment: Assignment, payload: bytes, receipt: SignedReceipt) -> HandIn:
        assert assignment.route is not None
        sha256 = hashlib.sha256(payload).hexdigest()
        offer = OfferUpdate(assignment.assignment, sha256, len(payload), 1, 1, 1, 0.0, 0.0, None, 0.0)
        found = fingerprints_of(assignment, payload, offer, assignment.route, receipt, (verify_key(),))
        assert found is not None
        return HandIn(
            assignment=assignment.assignment, receipt=receipt, fingerprint=found[0], tier_fingerprints=found[1:]
        )

    def deliver_by_neighbour(self, desk: RelayHandler, now: datetime, *, seed: int) -> UploadState:
        assignment, payload, _ = self.announce(now, seed=seed)
        receipt = self.hand_over(desk, assignment, payload).receipt
        assert receipt is not None
        return record_receipt(device=self.row, message=self.message(assignment, payload, receipt), now=now)
