"""Who is told to keep a neighbourhood's roles while the platform is away: the same three, by one signed list."""

import pytest

from coterie.core.identity import verify_key
from coterie.fleet.models import Device
from coterie.rounds.advancing import advance_federation
from coterie_wire.island import read_island
from coterie_wire.relaying import public_key
from tests.coterie.rounds.neighbours import Neighbour
from tests.coterie.world import later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
MEMBERS = 3


class Site:
    """Supernodes and their neighbours, in the first round of their federation."""

    def __init__(self, *, islands: int, leaders: int = 4) -> None:
        pair = make_pair()
        make_version(pair)
        plan = {"topology": {"kind": "supernodes"}}
        federation = make_federation(pair, plan=plan, target_updates=leaders + MEMBERS, min_updates=MEMBERS)
        self.leaders = [Neighbour(f"leader-{n}", n, leads=True, islands=n < islands) for n in range(leaders)]
        self.members = [Neighbour(f"member-{n}", leaders + n) for n in range(MEMBERS)]
        self.elsewhere = Neighbour("elsewhere", 20, leads=True, islands=True, tags=("site:b",))
        for device in (*self.leaders, *self.members, self.elsewhere):
            device.say(later(0))
        for _ in range(2):
            advance_federation(federation_id=federation.pk, now=later(0))


def test_members_and_the_three_best_supernodes_have_one_list() -> None:
    site = Site(islands=4)
    leads = [leader.say(later(1)).lead for leader in site.leaders]
    signed = {lead.island for lead in leads if lead is not None}
    routes = [member.assignment(later(1)).route for member in site.members]
    signed |= {route.island for route in routes if route is not None}
    (one,) = signed
    assert one is not None
    island = read_island(one, verify_key(), now=later(1).timestamp())
    best = sorted(site.leaders, key=lambda leader: leader.row.pk)[:3]  # they are alike
    assert {(voter.device, voter.key) for voter in island.voters} == {
        (str(leader.row.pk), public_key(leader.secret)) for leader in best
    }
    assert sum(lead is not None for lead in leads) == 3, "two are told to stand by, and the fourth nothing"
    assert site.elsewhere.say(later(1)).lead is None


def test_the_three_stay_the_same_while_one_is_away_and_not_when_it_is_put_in_quarantine() -> None:
    site = Site(islands=4)
    first, second = (site.members[0].assignment(later(seconds)).route for seconds in (1, 10**4))
    assert first is not None and second is not None and first.island == second.island
    lead = min(site.leaders, key=lambda leader: leader.row.pk)
    Device.objects.filter(pk=lead.row.pk).update(quarantine="it lies")
    third = site.members[0].assignment(later(2)).route
    assert third is None or third.island != first.island


def test_two_supernodes_are_no_island() -> None:
    site = Site(islands=2)
    leads = [leader.say(later(1)).lead for leader in site.leaders]
    assert [lead.island for lead in leads if lead is not None] == [None]
    route = site.members[0].assignment(later(1)).route
    assert route is not None and route.island is None
