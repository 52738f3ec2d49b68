"""The scheduler: laws that hold on random courses, and single decisions with their words."""

import re
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.cluster.schedule import NAMING, Decision, Gang, Host, Patience, Room, Share, borrowers, decide
from tests.coterie.cluster.course import PATIENCE, random_trace, run

A, B, C = Host("a", "north", 4), Host("b", "north", 4), Host("c", "south", 4)


def check_laws(seed: int) -> None:
    """On one course: all or none, no place twice, nobody waits without a reason or behind its like, everybody ends."""
    trace = random_trace(seed)

    def policy(hosts: Sequence[Host], gangs: Sequence[Gang], now: float) -> Decision:
        return decide(hosts, gangs, quotas=trace.quotas, now=now, patience=PATIENCE)

    def look(hosts: Sequence[Host], gangs: Sequence[Gang], decision: Decision) -> None:
        known = {gang.id: gang for gang in gangs}
        room = Room.left(hosts, [gang for gang in gangs if gang.shares])
        free = room.places
        places = {host.name: host.places for host in hosts}
        for name, shares in decision.starts.items():
            gang = known[name]
            assert not gang.shares and sum(share.ranks for share in shares) == gang.ranks, "all of it, once"
            joining = {host.name for host in hosts if host.joins}
            assert len(shares) == 1 or (gang.spreads and joining >= {share.host for share in shares})
            for share in () if gang.small else shares:
                crowd = share.ranks > places[share.host]
                assert share.ranks <= free[share.host] or (crowd and free[share.host] == places[share.host])
                free[share.host] = max(0, free[share.host] - share.ranks)
                assert room.gpus[share.host] >= set(share.gpus), "no GPU twice"
                room.gpus[share.host] -= set(share.gpus)
                assert len(share.gpus) in {"cores": {0}, "gpus": {share.ranks}, "auto": {0, 1}}[gang.device]
        waiting = {gang.id for gang in gangs if not gang.shares}
        assert waiting == decision.starts.keys() | decision.waits.keys(), "whoever waits is told why"
        assert not decision.starts.keys() & decision.waits.keys()
        for starts, waits in product(decision.starts, decision.waits):
            assert not is_before(known[waits], known[starts]), "who came first is first, also after it made room"
        for name, reason in (*decision.waits.items(), *decision.leaves.items()):
            others = {gang.called for gang in gangs if gang.id != name}
            named = others & set(re.findall(r"\w+", reason.sentence))
            assert not named or reason.code in NAMING, "other projects' jobs may be among them"
        borrowing = borrowers([gang for gang in gangs if gang.shares], trace.quotas)
        for name in decision.leaves:
            assert known[name].shares and not known[name].leaving
            for_less = any(g.team == known[name].team and g.priority > known[name].priority for g in gangs)
            assert name in borrowing or for_less, "nobody leaves its own quota for another team"

    course = run(trace, policy, look=look)
    assert course.ended.keys() == {gang.id for gang in trace.gangs}


def is_before(gang: Gang, other: Gang) -> bool:
    """Whether it came before another one that wants the same, and settles for what the other does."""
    wants, others = ((g.ranks, g.team, g.priority, g.spreads, g.device, g.small) for g in (gang, other))
    is_patient = gang.spreads and gang.ranks > 1 and gang.since > other.since
    return wants == others and not is_patient and gang.came < other.came


@example(382)  # where one that made room would lose its place to its like
@given(st.integers(0, 2**32))
def test_on_every_course_gangs_start_whole_and_end(seed: int) -> None:
    check_laws(seed)


@pytest.mark.long
def test_no_deadlock_on_ten_thousand_courses() -> None:
    for seed in range(10_000):
        check_laws(seed)


def told(gangs: Sequence[Gang], *, now: float = 0.0, hosts: Sequence[Host] = (A, B, C), **quotas: int) -> Decision:
    return decide(hosts, gangs, quotas=quotas, now=now)


def test_a_gang_is_near_itself_first_and_anywhere_once_it_has_waited() -> None:
    busy = [Gang(f"x{name}", 1, 0, shares=(Share(name, ranks),)) for name, ranks in (("a", 1), ("b", 2), ("c", 1))]
    gang = Gang("g", 4, 0)
    patience = Patience()
    waits = told([*busy, gang]).waits["g"]
    assert waits.code == "cluster.fragmented"
    assert waits.sentence == "waits for 4 workers on one host; 3 free on a"
    assert told([*busy, gang], now=patience.host_s).starts["g"] == (Share("a", 3), Share("b", 1))
    wide = Gang("g", 6, 0)
    assert told([*busy, wide]).waits["g"].sentence == "waits for 6 workers in one rack; 5 free in north"
    # The rack with most room first.
    spread = told([*busy, wide], now=patience.rack_s).starts["g"]
    assert spread == (Share("a", 3), Share("b", 2), Share("c", 1))


def test_a_gang_with_a_launcher_takes_hosts_with_that_launcher_alone() -> None:
    door = Host("door", "north", 4, joins=False, launcher="slurm")
    hosts = (A, door)
    assert told([Gang("g", 2, 0, launcher="slurm")], hosts=hosts).starts["g"] == (Share("door", 2),)
    assert told([Gang("g", 2, 0, launcher="here")], hosts=hosts).starts["g"] == (Share("a", 2),)
    assert told([Gang("g", 9, 0, launcher="slurm")], hosts=hosts).starts["g"] == (Share("door", 9),), "a crowd, too"
    busy = Gang("x", 3, 0, shares=(Share("door", 3),))
    waits = told([busy, Gang("g", 2, 0, launcher="slurm")], hosts=hosts).waits["g"]
    assert waits.sentence == "waits for 2 workers on one host; 1 free on door", "what is free elsewhere is no use"
    nobody = told([Gang("g", 2, 0, launcher="kubernetes")], hosts=hosts).waits["g"]
    assert nobody.code == "cluster.no_launcher"
    assert "COTERIE_CLUSTER_LAUNCHER=kubernetes" in nobody.sentence
    small = Gang("g", 1, 0, launcher="kubernetes", small=True)
    assert told([small], hosts=hosts).starts["g"], "one process tries it on any host"


def test_who_is_alone_takes_a_free_gpu_and_several_share_cores() -> None:
    hosts = (A, B._replace(gpus=2))
    assert told([Gang("g", 1, 0)], hosts=hosts).starts["g"] == (Share("b", 1, (0,)),), "though a is as free"
    assert told([Gang("g", 1, 0, device="cores")], hosts=hosts).starts["g"] == (Share("a", 1),)
    assert told([Gang("g", 2, 0)], hosts=hosts).starts["g"] == (Share("a", 2),)
    busy = Gang("x", 1, 0, shares=(Share("b", 1, (0,)),))
    assert told([busy, Gang("g", 1, 0)], hosts=hosts).starts["g"] == (Share("b", 1, (1,)),)
    full = Gang("x", 2, 0, shares=(Share("b", 2, (0, 1)),))
    assert told([full, Gang("g", 1, 0)], hosts=hosts).starts["g"] == (Share("b", 1),), "a core, where none is free"


def test_workers_that_want_gpus_wait_for_one_each() -> None:
    hosts = (A._replace(gpus=1), B._replace(gpus=2))
    wants = Gang("g", 2, 0, device="gpus")
    assert told([wants], hosts=hosts).starts["g"] == (Share("b", 2, (0, 1)),)
    busy = Gang("x", 1, 0, shares=(Share("b", 1, (1,)),))
    waits = told([busy, wants], hosts=hosts).waits["g"]
    assert waits.sentence == "waits for 2 workers, each with a GPU, on one host; 1 free on a"
    spread = told([busy, wants], hosts=hosts, now=Patience().rack_s).starts["g"]
    assert {share.host: share.gpus for share in spread} == {"a": (0,), "b": (0,)}
    never = told([Gang("g", 4, 0, device="gpus")], hosts=hosts).waits["g"]
    assert never.code == "cluster.no_gpus"
    assert "waits for 4 GPUs; the hosts that are there have 3, at most 2 on one" in never.sentence


def test_a_gang_makes_others_leave_whose_gpus_it_needs() -> None:
    hosts = (B._replace(gpus=1),)
    lesser = Gang("lesser", 1, 0, started=1, shares=(Share("b", 1, (0,)),))
    decision = told([lesser, Gang("g", 1, 0, priority=1, device="gpus")], hosts=hosts)
    assert decision.leaves.keys() == {"lesser"}
    on_cores = Gang("lesser", 1, 0, started=1, shares=(Share("b", 1),))
    assert not told([on_cores, Gang("g", 1, 0, priority=1, device="gpus")], hosts=hosts).leaves


def test_another_scheduler_hands_out_its_own_gpus() -> None:
    door = Host("door", "north", 4, joins=False, launcher="slurm", gpus=1)
    assert told([Gang("g", 2, 0, device="gpus")], hosts=(door,)).starts["g"] == (Share("door", 2),)


def test_a_gang_that_tolerates_no_network_waits_for_one_host() -> None:
    busy = [Gang(f"x{name}", 1, 0, shares=(Share(name, 1),)) for name in "abc"]
    alone = Gang("g", 4, 0, spreads=False)
    assert "on one host" in told([*busy, alone], now=1e6).waits["g"].sentence


def test_a_host_that_others_do_not_reach_takes_whole_gangs_alone() -> None:
    apart = [host._replace(joins=False) for host in (A, B)]
    assert told([Gang("g", 4, 0)], hosts=apart).starts["g"] == (Share("a", 4),)
    assert told([Gang("g", 6, 0)], hosts=[*apart, C], now=1e6).starts["g"] == (Share("c", 6),), "as a crowd"


def test_nobody_leaves_for_places_that_a_gang_does_not_settle_for_yet() -> None:
    hosts = (A, B)
    running = [
        Gang("kept", 3, 0, team="speech", started=1, shares=(Share("a", 3),)),
        Gang("own", 1, 0, team="vision", started=2, shares=(Share("b", 1),)),
        Gang("borrows", 3, 0, team="speech", started=3, shares=(Share("b", 3),)),
    ]
    gang, patience = Gang("g", 4, 0, team="vision"), Patience()
    early = told([*running, gang], hosts=hosts, vision=5, speech=3)
    assert not early.leaves, "one on a and three on b are no host of its own"
    late = told([*running, gang], hosts=hosts, now=patience.host_s, vision=5, speech=3)
    assert late.leaves.keys() == {"borrows"}
    gone = told([*running[:2], gang], hosts=hosts, now=patience.host_s, vision=5, speech=3)
    assert gone.starts["g"] == (Share("b", 3), Share("a", 1))


def test_who_leaves_already_counts_so_that_nobody_leaves_in_vain() -> None:
    running = [
        Gang("leaves", 2, 0, team="speech", started=2, shares=(Share("a", 2),), leaving=True),
        Gang("borrows", 2, 0, team="speech", started=3, shares=(Share("a", 2),)),
        Gang("too", 4, 0, team="speech", started=1, shares=(Share("b", 4),)),
    ]
    decision = told([*running, Gang("g", 4, 0, team="vision")], hosts=(A, B), vision=4)
    assert decision.leaves.keys() == {"borrows"}


def test_the_tightest_host_is_taken_so_that_large_gangs_find_room() -> None:
    busy = [Gang("x", 3, 0, shares=(Share("b", 3),))]
    assert told([*busy, Gang("g", 1, 0)]).starts["g"] == (Share("b", 1),)


def test_what_is_larger_than_the_cluster_has_its_largest_host_to_itself() -> None:
    crowd = Gang("g", 20, 0)
    assert told([crowd]).starts["g"] == (Share("c", 20),)
    busy = [Gang("x", 1, 0, shares=(Share("c", 1),))]
    assert told([*busy, crowd]).waits["g"].sentence.startswith("waits for an idle host: 20 workers are more")


def test_who_has_waited_long_keeps_others_from_starting_but_no_check() -> None:
    busy = [Gang(f"x{name}", 2, 0, shares=(Share(name, 2),)) for name in "ab"]
    gangs = [*busy, Gang("large", 4, 0), Gang("late", 1, 500), Gang("check", 1, 500, small=True)]
    hosts = (A, B)
    early = decide(hosts, gangs, quotas={}, now=550, patience=Patience(rack_s=1e9, host_s=1e9))
    assert early.starts.keys() == {"late", "check"}
    kept = decide(hosts, gangs, quotas={}, now=600, patience=Patience(rack_s=1e9, host_s=1e9))
    assert kept.starts.keys() == {"check"}
    assert kept.waits["late"].sentence == "waits behind large, which what becomes free is kept for"


def test_a_team_borrows_what_is_idle_and_gives_it_back() -> None:
    idle = told([Gang("g", 8, 0, team="vision")], vision=4, speech=8)
    assert idle.starts["g"], "nobody else wants it"
    lent = Gang("lent", 12, 0, team="vision", shares=(Share("a", 4), Share("b", 4), Share("c", 4)))
    mine = Gang("mine", 4, 5, team="speech")
    asked = told([lent, mine], now=5, vision=4, speech=8)
    assert asked.leaves["lent"].sentence == "it saves a checkpoint and leaves to mine"
    assert asked.waits["mine"].sentence == "waits until lent has saved a checkpoint and left"
    # Within its own quota it stays, and whoever is over its own borrows nothing while another is owed something.
    own = Gang("own", 12, 0, team="vision", shares=lent.shares)
    assert not told([own, mine], now=5, vision=12, speech=0).leaves
    owed = [Gang("o", 4, 0, team="speech", spreads=False), Gang("more", 1, 0, team="vision")]
    busy = [Gang(f"x{name}", 1, 0, team="vision", shares=(Share(name, 1),)) for name in "abc"]
    assert told([*busy, *owed], vision=3, speech=4).waits["more"].code == "cluster.over_quota"


def test_a_higher_priority_of_the_same_team_takes_the_place_of_a_lower_one_and_of_no_more_than_it_needs() -> None:
    running = [Gang(f"x{name}", 4, 0, shares=(Share(name, 4),)) for name in "abc"]
    urgent = Gang("urgent", 4, 1, priority=5)
    assert len(told([*running, urgent]).leaves) == 1
    assert not told([*running, Gang("equal", 4, 1)]).leaves


def test_who_made_room_is_not_at_the_end_of_the_queue() -> None:
    made_room = Gang("old", 4, since=100, came=0)
    found = told([Gang("new", 4, since=50, came=50), made_room], now=101, hosts=(A,))
    assert found.starts.keys() == {"old"}
    busy = [Gang(f"x{name}", 1, 0, shares=(Share(name, 1),)) for name in "ab"]
    assert told([*busy, made_room], now=101, hosts=(A, B)).waits["old"].code == "cluster.fragmented", "patient anew"


def test_a_host_on_which_it_failed_is_taken_last() -> None:
    assert told([Gang("g", 1, 0, avoids=frozenset("ab"))]).starts["g"] == (Share("c", 1),)
    assert told([Gang("g", 1, 0, avoids=frozenset("a"))], hosts=(A,)).starts["g"] == (Share("a", 1),)


def test_without_hosts_everybody_is_told_what_to_do() -> None:
    waits = told([Gang("g", 1, 0), Gang("check", 1, 0, small=True)], hosts=()).waits
    assert {reason.code for reason in waits.values()} == {"cluster.no_host"}
