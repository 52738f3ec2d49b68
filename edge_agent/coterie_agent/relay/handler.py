"""The supernode's server side: accepts updates and sums from ticket holders, and signs receipts for complete ones."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from coterie_agent.errors import AgentError
from coterie_agent.exclusions import Exclusions
from coterie_agent.island.membership import IslandMembership
from coterie_agent.relay.held_updates import HeldUpdate, HeldUpdates
from coterie_wire.bundle import SignedManifest, read_signed, verify_manifest
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.exclusion import check_not_excluded
from coterie_wire.island import Holding
from coterie_wire.relaying import (
    ChildSum,
    HandedOver,
    HandOver,
    Lead,
    Order,
    Receipt,
    SignedReceipt,
    SumReceipt,
    Ticket,
    public_key,
    read_with_body,
    seal,
    sign_receipt,
    unseal,
    verify_receipt,
    with_body,
)

if TYPE_CHECKING:  # they load NumPy
    from coterie_learning.partial_sums import PartialFile
    from coterie_learning.update_files import Contents, UpdateFile

NOT_LEADING = Reason("relay.not_leading", "this device is no supernode now, or does not know it yet")
NOT_THE_LEADER = Reason("relay.not_the_leader", "another supernode of this island takes updates now, or none yet")
NOT_AGREED = Reason("relay.not_agreed", "the other supernodes of this island have not agreed yet that it is held here")
FULL = Reason("relay.full", "this supernode holds as many updates as its owner lets it")
NOT_EXPECTED = Reason("relay.not_expected", "this supernode was not told to take the sum from this device")
WRONG_HASH = Reason("relay.wrong_hash", "what came is not what was announced; send it again")


@dataclass(kw_only=True)
class RelayHandler:
    """The handler; safe to use from several threads."""

    device: str
    """This device's name on the platform."""
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    secret: bytes
    folder: Path
    sums_folder: Path
    """`folder`: of updates; `sums_folder`: of sums of other supernodes."""
    members: int
    island: IslandMembership | None = None
    """The island, whose supernodes substitute for each other while the platform is unreachable."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970, by which tickets expire."""
    exclusions: Exclusions
    """Devices that the platform has excluded are refused."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _lead: Lead | None = None
    _held: HeldUpdates | None = None
    _sums: HeldUpdates | None = None
    _contents: "Contents | None" = None
    _limit_bytes: int = 0

    def follow(self, lead: Lead | None) -> None:
        """Follow the platform's `lead`. Raises WireError where its plan or manifest cannot be read."""
        with self._lock:
            known = self._lead
            self._lead = lead
            if lead is None or (known is not None and known.round == lead.round):
                return
            # Only here: NumPy takes memory, and most devices are no supernodes most of the time.
            from coterie_learning.device_plan import parse_device_plan
            from coterie_learning.update_files import Contents
            from coterie_learning.update_sizes import update_bytes

            self._lead = None  # until all of it is read
            plan = parse_device_plan(lead.plan)
            model = verify_manifest(lead.manifest, *self.trusted()).model
            self._contents = Contents(model, plan.codec, plan.local)
            self._limit_bytes = update_bytes(plan.local, plan.codec, model).most
            self._held = HeldUpdates(self.folder / lead.round)
            self._held.keep_only_this()
            self._sums = HeldUpdates(self.sums_folder / lead.round)
            self._sums.keep_only_this()
            self._lead = lead

    def admit(self, line: bytes) -> Ticket:
        """The caller's ticket.

        Raises WireError ``relay.*``, ``bundle.*`` or ``discovery.excluded`` where the caller is refused.
        """
        signed, _ = read_with_body(line, SignedManifest)
        ticket = read_signed(signed, Ticket, *self.trusted())
        is_ours = ticket.supernode == self.device or self._substitutes_for(ticket.supernode)
        if not is_ours or ticket.expires_at < self.clock():
            raise WireError("relay.wrong_ticket", "the ticket is for another device, or has expired")
        check_not_excluded(ticket.member, self.exclusions.devices)
        return ticket

    def receive(self, ticket: Ticket, sealed: bytes) -> bytes:
        """The sealed answer to a neighbour's message. Raises WireError ``relay.*`` where another device sealed it."""
        header, chunk = read_with_body(unseal(sealed, secret=self.secret, by=ticket.member_key), HandOver)
        if header.away is True and self.island is not None:
            answer = self._take_for_island(self.island, ticket, header, chunk)
        elif ticket.supernode != self.device:
            answer = HandedOver(refusal=NOT_LEADING)
        else:
            with self._lock:
                answer = self._take(ticket, header, chunk)
        self.exclusions.receive_from(ticket.member, header.exclusions)
        answer = msgspec.structs.replace(answer, exclusions=self.exclusions.news_for(ticket.member))
        return seal(with_body(answer), secret=self.secret, to=ticket.member_key)

    def holds(self) -> int:
        """Number of neighbours' updates that are complete or arriving."""
        with self._lock:
            return 0 if self._lead is None or self._held is None else len(self._held.assignments())

    def waits_for(self, order: Order) -> int:
        """Number of sums of other supernodes that go into this one and have not arrived."""
        with self._lock:
            sums = self._sums
        return 0 if sums is None else sum(sums.find(part.fold) is None for part in order.parts)

    def sum(self, order: Order) -> bytes:
        """The partial aggregate that the platform requests, as a file.

        Raises AgentError ``relay.update_lost``, or WireError.
        """
        from coterie_learning.fold import CountedUpdate, partial_aggregate
        from coterie_learning.partial_sums import added, encode_sums

        with self._lock:
            held, held_sums, contents = self._held, self._sums, self._contents
        assert held is not None and held_sums is not None and contents is not None, "an order comes with a lead"
        counted = []
        for share in order.shares:
            kept = held.find(share.assignment)
            if kept is None or held.sound(share.assignment, share.sha256) is None:
                raise AgentError("relay.update_lost", f"the update of assignment {share.assignment} is not here")
            if share.weight:
                update = partial(_opened, held.path(share.assignment), contents, kept.handed_over.classes)
                counted.append(CountedUpdate(update, share.weight))
        total = partial_aggregate(contents.model.parameters, counted, parts=contents.local.parts)
        for part in order.parts:
            content = held_sums.whole(part.fold)
            if content is None:
                raise AgentError("relay.update_lost", f"the sum {part.fold} of another supernode is not here")
            total = added([total, dict(_partial(content, contents, part).sums())])
        return encode_sums(total, of=order.fold)

    def _take(self, ticket: Ticket, header: HandOver, chunk: bytes) -> HandedOver:
        held, assignment = self._held, ticket.assignment
        if self._lead is None or held is None:
            return HandedOver(refusal=NOT_LEADING)
        if assignment in self._parts():
            return self._take_sum(self._parts()[assignment], ticket, header, chunk)
        kept = held.find(assignment)
        if kept is not None:
            if kept.handed_over.sha256 == header.sha256 and held.sound(assignment, header.sha256) is not None:
                return HandedOver(offset=header.size_bytes, receipt=self._receipt(kept, ticket))
            held.delete(assignment)
        if header.size_bytes > self._limit_bytes:
            detail = f"an update of this plan has {self._limit_bytes} bytes at most"
            return HandedOver(refusal=Reason("relay.too_large", detail))
        known = held.assignments()
        if assignment not in known and len(known) >= self.members:
            return HandedOver(refusal=FULL)
        arrived = held.grow(assignment, header, chunk)
        if arrived < header.size_bytes:
            return HandedOver(offset=arrived)
        return self._verify_and_sign(held, ticket, header)

    def _take_for_island(self, island: IslandMembership, ticket: Ticket, header: HandOver, chunk: bytes) -> HandedOver:
        """Accept an update as the leader of the island; its receipt follows once the voters agree on the holder."""
        keeper = island.keeper(ticket.assignment, header.sha256)
        if keeper != self.device:
            return HandedOver(refusal=NOT_THE_LEADER, ask=UNSET if keeper is None else keeper)
        with self._lock:
            answer = self._take(ticket, header, chunk)
        if answer.receipt is None:
            return answer
        is_agreed = island.agree(Holding(ticket.assignment, header.sha256, self.device))
        return answer if is_agreed else HandedOver(refusal=NOT_AGREED)

    def _substitutes_for(self, supernode: str) -> bool:
        return self.island is not None and self.island.substitutes_for(supernode)

    def _parts(self) -> Mapping[str, ChildSum]:
        """By fold, the sums expected from other supernodes."""
        order = None if self._lead is None else self._lead.order
        return {} if order is None else {part.fold: part for part in order.parts}

    def _take_sum(self, part: ChildSum, ticket: Ticket, header: HandOver, chunk: bytes) -> HandedOver:
        """Accept the sum of another supernode; it is stored only if it matches the fingerprint of its updates."""
        from coterie_learning.partial_sums import most_bytes

        held, contents = self._sums, self._contents
        assert held is not None and contents is not None, "an order comes with a lead"
        if ticket.member != part.supernode:
            return HandedOver(refusal=NOT_EXPECTED)
        limit_bytes = most_bytes(contents.model, contents.local)
        if header.size_bytes > limit_bytes:
            return HandedOver(refusal=Reason("relay.too_large", f"a sum of this plan has {limit_bytes} bytes at most"))
        kept = held.find(part.fold)
        if kept is not None and kept.handed_over.sha256 == header.sha256:
            return HandedOver(offset=header.size_bytes, receipt=kept.receipt)
        if kept is not None:
            held.delete(part.fold)
        arrived = held.grow(part.fold, header, chunk)
        if arrived < header.size_bytes:
            return HandedOver(offset=arrived)
        content = held.sound(part.fold, header.sha256)
        if content is None:
            held.delete(part.fold)
            return HandedOver(refusal=WRONG_HASH)
        try:
            _partial(content, contents, part)
        except WireError as error:
            held.delete(part.fold)
            return HandedOver(refusal=Reason(error.code, error.detail))
        receipt = sign_receipt(SumReceipt(part.fold, header.sha256, ticket.epoch, part.roll), self.secret)
        held.keep(part.fold, content, HeldUpdate(header, receipt))
        return HandedOver(offset=header.size_bytes, receipt=receipt)

    def _receipt(self, kept: HeldUpdate, ticket: Ticket) -> SignedReceipt:
        """The receipt of a stored update, for the newest route of its device."""
        receipt = verify_receipt(kept.receipt, public_key(self.secret))
        if receipt.epoch == ticket.epoch:
            return kept.receipt
        return sign_receipt(msgspec.structs.replace(receipt, epoch=ticket.epoch), self.secret)

    def _verify_and_sign(self, held: HeldUpdates, ticket: Ticket, header: HandOver) -> HandedOver:
        """Verify a complete update as the platform would, and sign its receipt."""
        from coterie_wire.tensor_files import InMemory

        assert self._contents is not None, "a lead has them"
        content = held.content(ticket.assignment)
        if hashlib.sha256(content).hexdigest() != header.sha256:
            held.delete(ticket.assignment)
            return HandedOver(refusal=WRONG_HASH)
        try:
            norm = self._contents.open(InMemory(content), header.classes).extent().norm
        except WireError as error:
            held.delete(ticket.assignment)
            return HandedOver(refusal=Reason(error.code, error.detail))
        receipt = sign_receipt(Receipt(ticket.assignment, header.sha256, ticket.epoch, norm), self.secret)
        held.keep(ticket.assignment, content, HeldUpdate(header, receipt))
        return HandedOver(offset=header.size_bytes, receipt=receipt)


def _partial(content: bytes, contents: "Contents", part: ChildSum) -> "PartialFile":
    """The verified sum of another supernode. Raises WireError ``partial.*`` or ``tensors.malformed``."""
    from coterie_learning.partial_sums import Fingerprint, PartialFile, sum_specs
    from coterie_wire.tensor_files import InMemory

    file = PartialFile(InMemory(content), expected=sum_specs(contents.model, contents.local), of=part.fold)
    file.compare(part.seed, weight=part.weight, wanted=Fingerprint(*part.fingerprint))
    return file


@contextmanager
def _opened(path: Path, contents: "Contents", classes: Sequence[int]) -> "Iterator[UpdateFile]":
    from coterie_wire.tensor_files import open_source

    with open_source(path) as source:
        yield contents.open(source, classes)
