"""Rounds whose sums meet again at the supernode of a region: desks are the agent's, messages are passed by hand."""

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from coterie.core.identity import verify_key
from coterie.merging.models import Update
from coterie.rounds.advancing import advance_federation
from coterie.rounds.errors import FoldEnded, SumRouteEnded
from coterie.rounds.models import Fold, Round, Route
from coterie.rounds.partials import complete_upload, offer_partial, open_upload
from coterie.rounds.supernode_receipts import record_sum_receipt
from coterie_agent.exclusions import Exclusions
from coterie_agent.relay.handler import RelayHandler
from coterie_learning.codec.int8 import Int8
from coterie_learning.cohort import weights
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.partial_sums import PartialFile, encode_sums, sum_specs
from coterie_learning.plan import LOCAL
from coterie_learning.update_files import Contents
from coterie_wire.errors import WireError
from coterie_wire.messages import UploadState
from coterie_wire.relaying import (
    HandedOver,
    HandInSum,
    HandOver,
    OfferPartial,
    Order,
    SignedReceipt,
    SumReceipt,
    read_with_body,
    seal,
    sign_receipt,
    unseal,
    verify_sum_receipt,
    with_body,
)
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import encode_tensors
from tests.coterie.rounds.neighbours import Neighbour
from tests.coterie.world import (
    MODEL,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db
SITES = ("a", "b", "c")
MEMBERS = 2
GATEWAY = "gateway"


@dataclass
class Relay:
    """A device that sums, with its desk."""

    device: Neighbour
    desk: RelayHandler
    order: Order | None = None
    sent: set[tuple[str, int]] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.device.row.name


def relay(place: int, name: str, folder: Path, *tags: str) -> Relay:
    device = Neighbour(name, place, leads=True, tags=tags)
    desk = RelayHandler(
        device=str(device.row.pk),
        trusted=lambda: (verify_key(),),
        secret=device.secret,
        folder=folder / name / "relay",
        sums_folder=folder / name / "relay-sums",
        members=10,
        exclusions=Exclusions(lambda: (verify_key(),)),
        clock=lambda: later(0).timestamp(),
    )
    return Relay(device, desk)


class Region:
    """Sites with a supernode and neighbours each, a gateway above them, and the first round of their federation."""

    def __init__(self, folder: Path) -> None:
        pair = make_pair()
        make_version(pair)
        devices = len(SITES) * (MEMBERS + 1) + 1
        self.federation = make_federation(
            pair,
            plan={"topology": {"kind": "supernodes", "above": ["region:"], "wait_s": 30}},
            target_updates=devices,
            min_updates=2,
        )
        self.relays = {GATEWAY: relay(20, GATEWAY, folder, "region:north")}
        self.members: dict[str, Neighbour] = {}
        for place, site in enumerate(SITES):
            name = f"leader-{site}"
            self.relays[name] = relay(place, name, folder, f"site:{site}", "region:north")
            for number in range(MEMBERS):
                member = f"member-{site}{number}"
                self.members[member] = Neighbour(member, 4 + MEMBERS * place + number, tags=(f"site:{site}",))
        gateway = self.relays[GATEWAY].device.row
        gateway.capabilities["cores"] = 32  # it is the best of its region
        gateway.save()
        self.devices = self.members | {name: one.device for name, one in self.relays.items()}
        self.seeds = {name: seed for seed, name in enumerate(sorted(self.devices))}
        self.killed: set[str] = set()
        self.held: set[tuple[str, int]] = set()
        self.now_s = 0.0
        for device in self.devices.values():
            device.say(later(0))
        for _ in range(2):
            advance_federation(federation_id=self.federation.pk, now=later(0))
        self.round = Round.objects.get(federation=self.federation, number=1)

    def step(self, seconds: float = 1.0, *, only: int | None = None) -> None:
        """Everybody who is alive does what is to be done; of those that sum only so many."""
        self.now_s += seconds
        for name in sorted(self.devices.keys() - self.killed):
            self._deliver(name)
        for name in sorted(self.relays.keys() - self.killed):
            self._listen(self.relays[name])
        for name in sorted(self.relays.keys() - self.killed - {GATEWAY})[:only]:
            self._sum(self.relays[name])
        if only is None and GATEWAY not in self.killed:
            self._sum(self.relays[GATEWAY])
        advance_federation(federation_id=self.federation.pk, now=later(self.now_s))
        self.round.refresh_from_db()

    def _deliver(self, name: str) -> None:
        device, now = self.devices[name], later(self.now_s)
        assignment = device.say(now).assignment
        if assignment is None:
            return
        if assignment.route is None:
            device.deliver_directly(now, seed=self.seeds[name])
            return
        relay = next(one for one in self.relays.values() if str(one.device.row.pk) == assignment.route.supernode)
        way = (name, assignment.route.epoch)
        if relay.name not in self.killed and way not in self.held:
            relay.desk.follow(relay.device.say(now).lead)
            assert device.deliver_by_neighbour(relay.desk, now, seed=self.seeds[name]).held
            self.held.add(way)

    def _listen(self, relay: Relay) -> None:
        lead = relay.device.say(later(self.now_s)).lead
        relay.desk.follow(lead)
        relay.order = None if lead is None else lead.order

    def _sum(self, relay: Relay) -> None:
        order = relay.order
        if order is None or relay.desk.waits_for(order):
            return
        way = (order.fold, 0 if order.route is None else order.route.epoch)
        if way in relay.sent:
            return
        if order.route is None:
            assert self.upload(relay, order, relay.desk.sum(order)).accepted
        elif self.above(order).name in self.killed:
            return  # it tries again, until the platform sends it another way
        else:
            receipt = self.hand_over(relay, order, relay.desk.sum(order)).receipt
            if receipt is None:
                return  # the one above is not told yet to take it
            self.hand_in(relay, order, receipt)
        relay.sent.add(way)

    def above(self, order: Order) -> Relay:
        assert order.route is not None
        key = order.route.supernode
        return next(one for one in self.relays.values() if str(one.device.row.pk) == key)

    def hand_over(self, relay: Relay, order: Order, content: bytes) -> HandedOver:
        assert order.route is not None
        told = HandOver(sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content), offset=0)
        sealed = seal(with_body(told, content), secret=relay.device.secret, to=order.route.key)
        desk = self.above(order).desk
        answer = desk.receive(desk.admit(with_body(order.route.ticket)), sealed)
        return read_with_body(unseal(answer, secret=relay.device.secret, by=order.route.key), HandedOver)[0]

    def hand_in(self, relay: Relay, order: Order, receipt: SignedReceipt) -> UploadState:
        message = HandInSum(fold=order.fold, receipt=receipt)
        return record_sum_receipt(device=relay.device.row, message=message, now=later(self.now_s))

    def upload(self, relay: Relay, order: Order, content: bytes) -> UploadState:
        now, device = later(self.now_s), relay.device.row
        offer = OfferPartial(order.fold, hashlib.sha256(content).hexdigest(), len(content))
        state = offer_partial(device=device, offer=offer, now=now)
        open_upload(device, order.fold, state.offset, now).write(state.offset, content[state.offset :])
        return complete_upload(device, order.fold, now)

    def until(self, is_done: Callable[[], bool], *, seconds: float = 1.0) -> None:
        for _ in range(60):
            if is_done():
                return
            self.step(seconds)
        raise AssertionError(self.round.reason_sentence)

    def gathers(self) -> bool:
        return self.round.gathers_since is not None

    def published(self) -> str:
        """The hash of the version, once the round has ended by itself."""
        self.until(lambda: self.round.state == Round.State.MERGING, seconds=10)
        merge_round(self.round, clock=lambda: later(self.now_s), merger=in_this_process)
        assert self.round.result_version is not None, self.round.reason_sentence
        return str(self.round.result_version.parameters_id)

    def delivered(self) -> list[str]:
        """Whose updates are in the version, each as often as it is."""
        return sorted(update.device.name for update in Update.objects.filter(merge=self.round.merge))

    def by_star(self, names: list[str]) -> str:
        """The version that the updates of these devices make when each sends its own."""
        contents = Contents(MODEL, Int8(), Sgd())
        updates = [
            contents.open(InMemory(Int8().encode(parameters(self.seeds[name]), seed=self.seeds[name]).payload), ())
            for name in names
        ]
        found = weights([self.devices[name].samples for name in names])
        counted = [
            CountedUpdate(lambda one=one: nullcontext(one), weight) for one, weight in zip(updates, found, strict=True)
        ]
        merged = fold_in_memory(FedAvg(), MODEL.parameters, counted, parameters(0), None)
        return hashlib.sha256(encode_tensors(merged.parameters)).hexdigest()


@pytest.fixture
def region(tmp_path: Path) -> Region:
    return Region(tmp_path)


def test_one_sum_comes_of_a_region_with_the_bits_of_a_star(region: Region) -> None:
    version = region.published()
    assert region.delivered() == sorted(region.devices)
    assert version == region.by_star(region.delivered())
    folds = {fold.supernode.name: fold for fold in Fold.objects.exclude(state="void").select_related("supernode")}
    assert {name: (fold.state, fold.tier, fold.way_code) for name, fold in folds.items()} == {
        GATEWAY: ("accepted", 1, "fold.top"),
        **{f"leader-{site}": ("held", 0, "fold.grouped") for site in SITES},
    }
    assert "gateway is the supernode of region:north" in folds["leader-a"].way_sentence
    partial = folds[GATEWAY].partial
    assert partial is not None
    assert len(partial.weights) == len(region.members)
    assert {route.reason_code for route in Route.objects.filter(supernode=None)} == {"route.leads", "route.no_site"}


KILLS = ((GATEWAY,), ("leader-b",), (GATEWAY, "leader-c"), ("leader-a", "leader-b", GATEWAY))


@pytest.mark.parametrize("held", [0, 2])
@pytest.mark.parametrize(
    "killed", [pytest.param(killed, marks=() if killed is KILLS[2] else pytest.mark.long) for killed in KILLS]
)
def test_whoever_is_killed_every_other_update_counts_once(region: Region, killed: tuple[str, ...], held: int) -> None:
    """Before sums are asked for, or once the supernode above holds some."""
    region.until(region.gathers)
    if held:
        region.step(only=held)
        assert Fold.objects.filter(state="held").count() == held
    region.killed.update(killed)
    version = region.published()
    delivered = region.delivered()
    assert len(delivered) == len(set(delivered))
    assert set(delivered) >= region.members.keys()
    assert version == region.by_star(delivered)


@pytest.mark.long
def test_a_sum_that_a_supernode_cannot_hand_over_goes_to_the_platform_and_only_there(region: Region) -> None:
    region.until(region.gathers)
    relay = region.relays["leader-a"]
    for one in region.relays.values():
        region._listen(one)
    order = relay.order
    assert order is not None and order.route is not None
    receipt = region.hand_over(relay, order, relay.desk.sum(order)).receipt
    assert receipt is not None
    assert region.upload(relay, order, relay.desk.sum(order)).accepted
    relay.sent.add((order.fold, order.route.epoch))
    with pytest.raises(SumRouteEnded):
        region.hand_in(relay, order, receipt)
    assert region.published() == region.by_star(sorted(region.devices))
    fold = Fold.objects.get(supernode=relay.device.row, state="accepted")
    assert (fold.parent, fold.epoch, fold.way_code) == (None, 2, "fold.parent_away")


@pytest.mark.long
def test_a_receipt_names_the_updates_and_one_for_others_is_refused(region: Region) -> None:
    region.until(region.gathers)
    for one in region.relays.values():
        region._listen(one)
    relay, gateway = region.relays["leader-a"], region.relays[GATEWAY]
    assert relay.order is not None and gateway.order is not None
    receipt = region.hand_over(relay, relay.order, relay.desk.sum(relay.order)).receipt
    assert receipt is not None
    route = relay.order.route
    assert route is not None
    found = verify_sum_receipt(receipt, route.key)
    part = next(part for part in gateway.order.parts if part.fold == relay.order.fold)
    assert found.roll == part.roll
    others = sign_receipt(SumReceipt(found.fold, found.sha256, found.epoch, "0" * 64), gateway.device.secret)
    with pytest.raises(SumRouteEnded):
        region.hand_in(relay, relay.order, others)
    forged = sign_receipt(found, relay.device.secret)
    with pytest.raises(WireError, match="not signed by the supernode"):
        region.hand_in(relay, relay.order, forged)
    for _ in range(2):
        assert region.hand_in(relay, relay.order, receipt).held == 1
    with pytest.raises(FoldEnded):
        region.upload(relay, relay.order, relay.desk.sum(relay.order))


def altered(content: bytes, of: str) -> bytes:
    specs = sum_specs(MODEL, LOCAL.parse({"kind": "sgd"}))
    sums = dict(PartialFile(InMemory(content), expected=specs, of=of).sums())
    sums["delta.bias"] = sums["delta.bias"] + np.array([0, 1, 0])
    return encode_sums(sums, of=of)


@pytest.mark.long
def test_a_wrong_inner_sum_is_refused_by_the_supernode_above_and_struck_off_by_the_platform(region: Region) -> None:
    region.until(region.gathers)
    for one in region.relays.values():
        region._listen(one)
    liar = region.relays["leader-b"]
    order = liar.order
    assert order is not None
    wrong = altered(liar.desk.sum(order), order.fold)
    refusal = region.hand_over(liar, order, wrong).refusal
    assert refusal is not None and refusal.code == "partial.altered"
    with pytest.raises(WireError):
        region.upload(liar, order, wrong)
    liar.device.row.refresh_from_db()
    assert "leader-b" in liar.device.row.quarantine
    region.killed.add("leader-b")
    assert region.published() == region.by_star(region.delivered())
    assert set(region.delivered()) >= region.members.keys()


@pytest.mark.long
def test_a_supernode_above_that_alters_the_whole_is_struck_off_alone(region: Region) -> None:
    region.until(region.gathers)
    region.step(only=len(SITES))
    gateway = region.relays[GATEWAY]
    region._listen(gateway)
    order = gateway.order
    assert order is not None and len(order.parts) == len(SITES)
    with pytest.raises(WireError):
        region.upload(gateway, order, altered(gateway.desk.sum(order), order.fold))
    gateway.device.row.refresh_from_db()
    assert "gateway" in gateway.device.row.quarantine
    version = region.published()
    assert set(region.delivered()) >= region.members.keys()
    assert version == region.by_star(region.delivered())
    for name in region.relays.keys() - {GATEWAY}:
        device = region.relays[name].device.row
        device.refresh_from_db()
        assert not device.quarantine


def test_no_device_that_may_sum_learns_by_what_it_is_checked(region: Region) -> None:
    """Seeds are told to the members of sites alone, and that of a tier to its own supernode."""
    told: dict[str, set[bytes]] = {}
    for name, device in region.devices.items():
        assignment = device.say(later(1)).assignment
        assert assignment is not None
        if assignment.route is not None:
            told[name] = {assignment.route.check_seed, *assignment.route.tier_seeds}
    assert told.keys() == region.members.keys()
    (seeds,) = {frozenset(one) for one in told.values()}
    assert len(seeds) == 2
    region.until(region.gathers)
    for one in region.relays.values():
        region._listen(one)
    of_gateway = region.relays[GATEWAY].order
    assert of_gateway is not None
    assert {part.seed for part in of_gateway.parts} < seeds
    assert all(not one.order.parts for name, one in region.relays.items() if name != GATEWAY and one.order is not None)
