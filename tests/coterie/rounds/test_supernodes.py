"""Rounds whose updates meet at a supernode: its desk is the agent's own, messages are passed by hand."""

import hashlib
from contextlib import nullcontext
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.core.identity import verify_key
from coterie.fleet.presence import settle
from coterie.merging.models import Update
from coterie.rounds.advancing import advance_federation
from coterie.rounds.errors import AlreadyDelivered, AssignmentClosed, FoldEnded, NotYourFold, RouteEnded
from coterie.rounds.models import Fold, Round, Route
from coterie.rounds.partials import complete_upload, offer_partial, open_upload
from coterie.rounds.signalling import NoBusiness, send_signal
from coterie.rounds.supernode_receipts import record_receipt
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
from coterie_wire.paths import SendSignal
from coterie_wire.relaying import (
    OfferPartial,
    Order,
    Receipt,
    sign_receipt,
)
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import encode_tensors
from tests.coterie.rounds.neighbours import SAMPLES, Neighbour
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
MEMBERS = 3


class Site:
    """A supernode, its neighbours and the first round of their federation, in which every device has a part."""

    def __init__(self, folder: Path, *, paths: bool = False) -> None:
        self.pair = make_pair()
        make_version(self.pair)
        self.federation = make_federation(
            self.pair, plan={"topology": {"kind": "supernodes"}}, target_updates=MEMBERS + 1, min_updates=MEMBERS
        )
        self.leader = Neighbour("leader", 0, leads=True, paths=paths)
        self.members = [
            Neighbour(f"member-{place}", place, paths=paths and place > 1) for place in range(1, MEMBERS + 1)
        ]
        self.desk = RelayHandler(
            device=str(self.leader.row.pk),
            trusted=lambda: (verify_key(),),
            secret=self.leader.secret,
            folder=folder / "relay",
            sums_folder=folder / "relay-sums",
            members=10,
            exclusions=Exclusions(lambda: (verify_key(),)),
            clock=lambda: later(0).timestamp(),
        )
        for device in (*self.members, self.leader):
            device.say(later(0))
        advance_federation(federation_id=self.federation.pk, now=later(0))
        advance_federation(federation_id=self.federation.pk, now=later(0))
        self.round = Round.objects.get(federation=self.federation, number=1)
        self.desk.follow(self.leader.say(later(1)).lead)

    def advance(self, seconds: float) -> None:
        settle(now=later(seconds))
        advance_federation(federation_id=self.federation.pk, now=later(seconds))
        self.round.refresh_from_db()

    def collect(self) -> None:
        """Every update is in: the leader's own directly, the others at its desk."""
        self.leader.deliver_directly(later(2), seed=0)
        for seed, member in enumerate(self.members, start=1):
            assert member.deliver_by_neighbour(self.desk, later(2), seed=seed).held == 1

    def order(self, seconds: float) -> Order:
        """What the platform asks the supernode for, once all is in."""
        self.advance(seconds)
        lead = self.leader.say(later(seconds)).lead
        assert lead is not None and lead.order is not None
        return lead.order

    def send(self, fold: str, content: bytes, seconds: float) -> UploadState:
        now, device = later(seconds), self.leader.row
        offer = OfferPartial(fold=fold, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
        state = offer_partial(device=device, offer=offer, now=now)
        open_upload(device, fold, state.offset, now).write(state.offset, content[state.offset :])
        return complete_upload(device, fold, now)

    def published(self, seconds: float) -> str:
        """The hash of the version."""
        self.advance(seconds)
        self.advance(seconds)
        assert self.round.state == Round.State.MERGING, self.round.reason_sentence
        merge_round(self.round, clock=lambda: later(seconds), merger=in_this_process)
        assert self.round.result_version is not None, self.round.reason_sentence
        return str(self.round.result_version.parameters_id)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def by_star(*, leader: bool = True) -> str:
    """The version that the same updates make when every device sends its own."""
    contents, seeds = Contents(MODEL, Int8(), Sgd()), range(0 if leader else 1, MEMBERS + 1)
    updates = [contents.open(InMemory(Int8().encode(parameters(seed), seed=seed).payload), ()) for seed in seeds]
    found = weights([SAMPLES[seed] for seed in seeds])
    counted = [
        CountedUpdate(lambda one=one: nullcontext(one), weight) for one, weight in zip(updates, found, strict=True)
    ]
    merged = fold_in_memory(FedAvg(), MODEL.parameters, counted, parameters(0), None)
    return hashlib.sha256(encode_tensors(merged.parameters)).hexdigest()


def test_a_checked_sum_makes_the_version_of_a_star(site: Site) -> None:
    site.collect()
    site.round.refresh_from_db()
    assert (site.round.state, site.round.updates_in) == ("open", MEMBERS + 1)
    order = site.order(3)
    assert [share.weight for share in order.shares] != [member.samples for member in site.members], "one is capped"
    assert site.send(order.fold, site.desk.sum(order), 4).accepted
    version = site.published(5)
    updates = Update.objects.filter(merge=site.round.merge)
    assert sorted(updates.values_list("samples", flat=True)) == sorted(SAMPLES)
    assert updates.exclude(partial=None).count() == MEMBERS
    assert version == by_star()


def test_everybody_is_told_the_way_and_why(site: Site) -> None:
    routes = {route.assignment.device_id: route for route in Route.objects.select_related("assignment")}
    assert routes[site.leader.row.pk].reason_code == "route.leads"
    assert {routes[member.row.pk].reason_code for member in site.members} == {"route.by_supernode"}
    assert site.leader.assignment(later(2)).route is None
    route = site.members[0].assignment(later(2)).route
    assert route is not None
    assert (route.supernode, route.address, route.epoch) == (str(site.leader.row.pk), "127.0.0.1:8717", 1)


@pytest.mark.parametrize("tampering", ["one number", "one device less", "another fold", "no tensor file"])
def test_a_supernode_that_alters_its_sum_is_caught_and_struck_off(site: Site, tampering: str) -> None:
    site.collect()
    order = site.order(3)
    with pytest.raises(WireError):
        site.send(order.fold, altered(site, order, tampering), 4)
    site.leader.row.refresh_from_db()
    assert "leader" in site.leader.row.quarantine
    assert Fold.objects.get().reason_code == "fold.altered"
    with pytest.raises(FoldEnded):
        site.send(order.fold, site.desk.sum(order), 5)
    for seed, member in enumerate(site.members, start=1):
        assert member.assignment(later(6)).route is None
        member.deliver_directly(later(6), seed=seed)
    assert site.published(7) == by_star()


def altered(site: Site, order: Order, how: str) -> bytes:
    if how == "no tensor file":
        return b"nothing"
    if how == "another fold":
        return site.desk.sum(msgspec.structs.replace(order, fold="another"))
    if how == "one device less":
        return site.desk.sum(msgspec.structs.replace(order, shares=order.shares[1:]))
    honest = site.desk.sum(order)
    specs = sum_specs(MODEL, LOCAL.parse({"kind": "sgd"}))
    sums = dict(PartialFile(InMemory(honest), expected=specs, of=order.fold).sums())
    sums["delta.bias"] = sums["delta.bias"] + np.array([0, 1, 0])
    return encode_sums(sums, of=order.fold)


def test_a_supernode_that_falls_silent_costs_one_upload_each(site: Site) -> None:
    site.collect()
    order = site.order(3)
    late = site.desk.sum(order)
    for seed, member in enumerate(site.members, start=1):
        member.say(later(100))
        site.advance(100)
        assignment = member.assignment(later(101))
        assert assignment.route is None
        member.deliver_directly(later(101), seed=seed)
    with pytest.raises(FoldEnded):
        site.send(order.fold, late, 102)
    assert Fold.objects.get().reason_code in ("route.supernode_silent", "route.supernode_late")
    version = site.published(103)
    assert Update.objects.filter(merge=site.round.merge).count() == MEMBERS + 1
    assert version == by_star()


def test_when_a_device_stays_away_too_its_neighbours_are_merged_with_weights_of_their_own(
    site: Site,
) -> None:
    """The leader's own part is released; the sum is asked for with the weights of those that are left."""
    for seed, member in enumerate(site.members, start=1):
        member.deliver_by_neighbour(site.desk, later(2), seed=seed)
    deadline_s = site.round.parsed_plan().pace.deadline_after_s()
    site.leader.say(later(deadline_s + 1))
    site.advance(deadline_s + 1)
    order = site.order(deadline_s + 2)
    assert site.send(order.fold, site.desk.sum(order), deadline_s + 3).accepted
    version = site.published(deadline_s + 4)
    assert version == by_star(leader=False)


def test_what_is_held_counts_once(site: Site) -> None:
    member = site.members[0]
    assignment, payload, _ = member.announce(later(2), seed=1)
    receipt = member.hand_over(site.desk, assignment, payload).receipt
    assert receipt is not None
    again = member.hand_over(site.desk, assignment, payload).receipt
    assert again == receipt
    message = member.message(assignment, payload, receipt)
    for _ in range(2):
        assert record_receipt(device=member.row, message=message, now=later(3)).held == 1
    site.round.refresh_from_db()
    assert site.round.updates_in == 1
    assert member.announce(later(4), seed=1)[2].held == 1
    with pytest.raises(AlreadyDelivered):
        member.announce(later(4), seed=9)
    with pytest.raises(AlreadyDelivered):
        member.send(assignment.assignment, payload, 0, later(4))


def test_receipts_of_other_ways_and_other_devices_are_refused(site: Site) -> None:
    member, other = site.members[:2]
    assignment, payload, _ = member.announce(later(2), seed=1)
    receipt = member.hand_over(site.desk, assignment, payload).receipt
    assert receipt is not None
    message = member.message(assignment, payload, receipt)
    forged = sign_receipt(msgspec.json.decode(receipt.receipt, type=Receipt), member.secret)
    with pytest.raises(WireError, match="not signed by the supernode"):
        record_receipt(device=member.row, message=msgspec.structs.replace(message, receipt=forged), now=later(3))
    theirs = other.assignment(later(3))
    with pytest.raises(RouteEnded):
        moved = msgspec.structs.replace(message, assignment=theirs.assignment)
        record_receipt(device=other.row, message=moved, now=later(3))
    member.send(assignment.assignment, payload, 0, later(4))
    with pytest.raises(RouteEnded):
        record_receipt(device=member.row, message=message, now=later(5))
    assert Route.objects.get(pk=assignment.assignment).reason_code == "route.supernode_away"


def test_only_the_supernode_that_was_asked_sends_a_sum(site: Site) -> None:
    site.collect()
    order = site.order(3)
    offer = OfferPartial(fold=order.fold, sha256="0" * 64, size_bytes=10)
    with pytest.raises(NotYourFold):
        offer_partial(device=site.members[0].row, offer=offer, now=later(4))


def test_nothing_is_taken_while_sums_are_gathered(site: Site) -> None:
    late = site.leader.assignment(later(2))
    for seed, member in enumerate(site.members, start=1):
        member.deliver_by_neighbour(site.desk, later(2), seed=seed)
    deadline_s = site.round.parsed_plan().pace.deadline_after_s()
    site.advance(deadline_s + 1)
    with pytest.raises(AssignmentClosed):
        site.leader.offer(late.assignment, site.leader.payload(0), later(deadline_s + 2))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tags": []}, "route.no_site"),
        ({"tags": ["site:b"]}, "route.no_supernode"),
    ],
)
def test_who_has_no_supernode_sends_directly_and_says_why(change: dict[str, list[str]], code: str) -> None:
    pair = make_pair("plain")
    make_version(pair)
    make_federation(pair, plan={"topology": {"kind": "supernodes"}}, target_updates=2, min_updates=1)
    leader, other = Neighbour("leader", 0, leads=True), Neighbour("other", 1)
    other.row.tags = change["tags"]
    other.row.save()
    for device in (leader, other):
        device.check_in(later(0))
    assert other.check_in(later(1)).assignment is not None
    route = Route.objects.get(assignment__device=other.row)
    assert (route.supernode, route.reason_code) == (None, code)


def shed(site: Site, keep: int) -> None:
    """The supernode says in a check-in that it can keep only so many."""
    shedding = {"keep": keep, "reason": {"code": "relay.disk_full", "sentence": "it is busy"}}
    site.leader.row.capabilities["relay"] |= {"shedding": shedding}
    site.leader.row.save()


def test_a_loaded_supernode_sheds_those_first_whose_updates_it_does_not_have(site: Site) -> None:
    late, early = site.members[0], site.members[1:]
    for seed, member in enumerate(early, start=2):
        member.deliver_by_neighbour(site.desk, later(2), seed=seed)
    stale = late.announce(later(2), seed=1)
    shed(site, keep=2)
    site.advance(3)
    assert site.round.updates_in == 2
    route = Route.objects.get(assignment__device=late.row)
    assert (route.supernode, route.epoch, route.reason_code) == (None, 2, "route.shed")
    assert "leader has shed the device: it is busy; no neighbour has room" in route.reason_sentence
    receipt = late.hand_over(site.desk, stale[0], stale[1]).receipt
    assert receipt is not None
    with pytest.raises(RouteEnded):
        record_receipt(device=late.row, message=late.message(stale[0], stale[1], receipt), now=later(3))
    late.deliver_directly(later(4), seed=1)
    site.leader.deliver_directly(later(4), seed=0)
    order = site.order(5)
    assert site.send(order.fold, site.desk.sum(order), 6).accepted
    assert site.published(7) == by_star()
    assert Update.objects.filter(merge=site.round.merge).count() == MEMBERS + 1


def test_who_is_shed_goes_to_a_neighbour_that_has_room(site: Site, tmp_path: Path) -> None:
    """One that may sum no more gives back what it has; each device sends once more, and counts once."""
    other = Neighbour("other", MEMBERS + 1, leads=True)
    other.say(later(1))
    for seed, member in enumerate(site.members, start=1):
        member.deliver_by_neighbour(site.desk, later(2), seed=seed)
    shed(site, keep=0)
    site.advance(3)
    site.advance(3)
    assert site.round.updates_in == 0
    routes = Route.objects.filter(assignment__device__in=[member.row for member in site.members])
    assert {(route.supernode, route.epoch, route.reason_code) for route in routes} == {(other.row, 2, "route.shed")}
    assert all("; other takes it" in route.reason_sentence for route in routes)
    desk = RelayHandler(
        device=str(other.row.pk),
        trusted=lambda: (verify_key(),),
        secret=other.secret,
        folder=tmp_path / "other",
        sums_folder=tmp_path / "other-sums",
        members=10,
        exclusions=Exclusions(lambda: (verify_key(),)),
        clock=lambda: later(0).timestamp(),
    )
    desk.follow(other.say(later(4)).lead)
    for seed, member in enumerate(site.members, start=1):
        assert member.deliver_by_neighbour(desk, later(4), seed=seed).held == 2
    site.leader.deliver_directly(later(4), seed=0)
    site.advance(5)
    lead = other.say(later(5)).lead
    assert lead is not None and lead.order is not None
    site.leader, site.desk = other, desk
    assert site.send(lead.order.fold, desk.sum(lead.order), 6).accepted
    assert site.published(7) == by_star()
    assert Update.objects.filter(merge=site.round.merge).count() == MEMBERS + 1


def test_a_supernode_that_opens_direct_paths_is_told_so_and_signals_pass_between_it_and_its_members(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, paths=True)
    able, unable = site.members[1], site.members[0]
    assert unable.assignment(later(1)).route.direct is None
    assert able.assignment(later(1)).route.direct.device == str(site.leader.row.pk)
    path = "0" * 32
    send_signal(device=able.row, message=SendSignal(path, str(site.leader.row.pk), b"sealed"), now=later(1))
    (signal,) = site.leader.say(later(2)).signals
    assert (signal.way.device, signal.sealed) == (str(able.row.pk), b"sealed")
    send_signal(device=site.leader.row, message=SendSignal(path, signal.way.device, b"back"), now=later(2))
    assert [one.sealed for one in able.say(later(3)).signals] == [b"back"]
    with pytest.raises(NoBusiness):
        send_signal(device=able.row, message=SendSignal(path, str(unable.row.pk), b"sealed"), now=later(3))
