"""What becomes of a device's rounds decides whether its neighbours send to it."""

from collections.abc import Iterator
from itertools import count
from uuid import uuid4

import pytest

from coterie.fleet.models import Device
from coterie.merging.models import Update
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Round, RoundEvent, Route
from coterie.rounds.suitability import LATEST, MEASURABLE_BYTES, suitabilities
from tests.coterie.rounds.neighbours import Neighbour
from tests.coterie.world import later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


class Past:
    """A federation whose rounds so far are made up."""

    def __init__(self) -> None:
        self.pair = make_pair()
        self.version = make_version(self.pair)
        plan = {"topology": {"kind": "supernodes"}}
        self.federation = make_federation(self.pair, plan=plan, target_updates=5, min_updates=2)
        self._numbers: Iterator[int] = count(1)

    def hold(self, device: Device, *, seconds: float | None = None, size_bytes: int = 1 << 20) -> None:
        """A round that asked it; `seconds` that its update took; None: it was missing at the end."""
        number = next(self._numbers)
        at, kind = later(100 * number), RoundEvent.Kind
        round_ = Round.objects.create(
            federation=self.federation,
            number=number,
            seed=number,
            state=Round.State.ABANDONED,
            opens_at=at,
            opened_at=at,
            finished_at=later(100 * number + 50),
        )
        for told in (kind.ASKED, kind.DROPPED if seconds is None else kind.UPLOADING):
            RoundEvent.objects.create(round=round_, at=at, kind=told, device=device)
        if seconds is not None:
            Update.objects.create(
                id=uuid4(),
                federation=self.federation,
                device=device,
                base_version=self.version,
                cohort=round_.pk,
                received_at=later(100 * number + seconds),
                sha256="0" * 64,
                size_bytes=size_bytes,
                samples=1,
                steps_done=1,
                steps_total=1,
                loss_before=0.0,
                loss_after=0.0,
                train_s=1.0,
            )

    def open(self) -> Round:
        """The next round, with all devices that are there."""
        for _ in range(2):
            advance_federation(federation_id=self.federation.pk, now=later(10**4))
        return Round.objects.filter(federation=self.federation).latest("number")


def test_a_line_is_measured_by_updates_that_are_large_enough_and_came_by_themselves() -> None:
    past, device = Past(), Neighbour("leader", 0, leads=True).row
    for seconds in (1.0, 2.0, 4.0):
        past.hold(device, seconds=seconds)
    past.hold(device, seconds=9.0, size_bytes=MEASURABLE_BYTES - 1)
    found = suitabilities(Round(federation=past.federation, number=5), [device])[device.pk]
    assert found.mbit_s == pytest.approx(8 * 2**20 / 1e6 / 2)
    assert found.stayed == 1.0
    assert found.score == pytest.approx((4 * 1.0 * found.mbit_s) ** 0.25)


def test_who_was_missing_counts_for_less_and_what_is_long_ago_for_nothing() -> None:
    past, device = Past(), Neighbour("leader", 0, leads=True).row
    past.hold(device)
    for _ in range(LATEST):
        past.hold(device, seconds=1.0)
    now, next_ = (Round(federation=past.federation, number=LATEST + 1 + later_) for later_ in (0, 1))
    assert suitabilities(now, [device])[device.pk].stayed == pytest.approx(LATEST / (LATEST + 1))
    assert suitabilities(next_, [device])[device.pk].stayed == 1.0
    new = Neighbour("new", 1, leads=True).row
    found = suitabilities(now, [device, new])
    assert (found[new.pk].mbit_s, found[new.pk].stayed) == (None, 1.0)


@pytest.mark.parametrize("better", ["the quicker line", "who stays"])
def test_neighbours_send_to_whoever_has_stood_by_best(better: str) -> None:
    past = Past()
    leaders = [Neighbour(f"leader-{place}", place, leads=True) for place in range(2)]
    leaders.sort(key=lambda leader: leader.row.pk, reverse=True)  # alike, the second would be taken
    members = [Neighbour(f"member-{place}", 2 + place) for place in range(3)]
    for _ in range(3):
        past.hold(leaders[0].row, seconds=1.0)
        past.hold(leaders[1].row, seconds=10.0 if better == "the quicker line" else None)
    for device in (*leaders, *members):
        device.say(later(10**4))
    round_ = past.open()
    routes = Route.objects.filter(assignment__round=round_, assignment__device__in=[one.row for one in members])
    assert {route.supernode_id for route in routes} == {leaders[0].row.pk}
    sentence = routes[0].reason_sentence
    assert "4 cores, 1 GiB of memory, a line of 8.39 Mbit/s, and stays in 100% of its rounds" in sentence


def test_a_standing_stays_the_same_during_a_round() -> None:
    past, device = Past(), Neighbour("leader", 0, leads=True).row
    past.hold(device, seconds=1.0)
    before = suitabilities(Round(federation=past.federation, number=2), [device])
    past.hold(device)
    assert suitabilities(Round(federation=past.federation, number=2), [device]) == before
    assert suitabilities(Round(federation=past.federation, number=3), [device]) != before
