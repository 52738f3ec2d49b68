"""The roles of an island, whatever the network does and whoever is stopped: one leader a term, and nothing is lost."""

from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from coterie_agent.island.raft import HEARTBEAT_S, LONGEST_S, Raft
from coterie_wire.island import Append, AskVote, GiveVote, Holding
from tests.coterie_agent.island.cluster import Cluster
from tests.examples import examples


class Contest(RuleBasedStateMachine):
    """Two of three voters contend for the vote of the third; their words come in any order."""

    make: ClassVar[type[Raft]] = Raft
    sizes: ClassVar[tuple[int, ...]] = (3,)

    @initialize(data=st.data(), seed=st.integers(0, 2**16))
    def begin(self, data: st.DataObject, seed: int) -> None:
        self.cluster, self.number = Cluster(data.draw(st.sampled_from(self.sizes)), seed, self.make), 0

    @rule(positions=st.lists(st.integers(0, 100), min_size=1, max_size=6), keep=st.booleans())
    def deliver(self, positions: list[int], keep: bool) -> None:
        for position in positions:
            self.cluster.deliver(position, keep=keep)

    @rule(voter=st.sampled_from(("v0", "v2")))
    def elect(self, voter: str) -> None:
        self.cluster.elect(voter, "v1")

    @rule(voter=st.sampled_from(("v0", "v2")), messages=st.integers(1, 6))
    def talk(self, voter: str, messages: int) -> None:
        self.cluster.talk(voter, "v1", messages)

    @rule()
    def propose_to_the_leader(self) -> None:
        self.number += 1
        if (leader := self.cluster.leader()) is not None:
            self.cluster.propose(leader.own, self.number)

    def teardown(self) -> None:
        """Once all is well again somebody leads, and knows all that was ever committed."""
        if hasattr(self, "cluster"):
            leader = self.cluster.heal()
            assert leader.committed >= max(self.cluster.committed, default=0)
            assert all(raft.committed == leader.committed for raft in self.cluster.up.values())


class Island(Contest):
    """Steps of the network, of time and of the voters, in any order."""

    sizes = (3, 5)

    @rule(seconds=st.floats(0.01, 2 * LONGEST_S))
    def tick(self, seconds: float) -> None:
        self.cluster.tick(seconds)

    @rule()
    def deliver_all(self) -> None:
        self.cluster.deliver_all()

    @rule(share=st.integers(1, 4))
    def lose(self, share: int) -> None:
        del self.cluster.wire[::share]

    @rule(voters=st.sets(st.integers(0, 4), max_size=2))
    def part(self, voters: set[int]) -> None:
        self.cluster.cut = frozenset(f"v{number}" for number in voters)

    @rule(voter=st.integers(0, 4))
    def stop(self, voter: int) -> None:
        self.cluster.stop(f"v{voter}")

    @rule(voter=st.integers(0, 4))
    def start(self, voter: int) -> None:
        if (name := f"v{voter}") in self.cluster.names and name not in self.cluster.up:
            self.cluster.start(name)

    @rule(voter=st.integers(0, 4))
    def propose(self, voter: int) -> None:
        self.number += 1
        self.cluster.propose(f"v{voter}", self.number)


class SmallRaft(Raft):
    """Its snapshots come after few entries, which it sends one by one."""

    KEPT_ENTRIES, BATCH = 2, 1


class SmallIsland(Island):
    make = SmallRaft


class SmallContest(Contest):
    make = SmallRaft


TestIsland: Any = Island.TestCase
TestSmallIsland: Any = SmallIsland.TestCase
TestSmallContest: Any = SmallContest.TestCase
TestIsland.settings = TestSmallIsland.settings = TestSmallContest.settings = settings(
    max_examples=examples(15, 300), stateful_step_count=40, deadline=None
)


class ForgetsItsVote(Raft):
    """A fault: in a term that it has voted in it votes again."""

    def _may_vote_for(self, sender: str) -> bool:
        return True


class CommitsOldTerms(Raft):
    """A fault: an entry of an earlier term counts once a majority has it (figure 8 of the paper)."""

    BATCH = 1

    def _may_commit(self, index: int) -> bool:
        return True


class VotesForShorterLogs(Raft):
    """A fault: whoever asks first is voted for."""

    def _on_ask_vote(self, sender: str, ask: AskVote, now: float) -> None:
        super()._on_ask_vote(sender, msgspec.structs.replace(ask, last_term=2**40), now)


@pytest.mark.parametrize(
    "fault",
    [
        ForgetsItsVote,
        pytest.param(CommitsOldTerms, marks=pytest.mark.long),
        pytest.param(VotesForShorterLogs, marks=pytest.mark.long),
    ],
)
def test_planted_faults_are_found(fault: type[Raft]) -> None:
    class Faulty(Contest):
        make = fault

    found = settings(max_examples=2000, stateful_step_count=40, deadline=None, phases=[Phase.generate])
    with pytest.raises(AssertionError, match=r"both led|committed"):
        run_state_machine_as_test(Faulty, settings=found)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("make", "expected"), [(SmallRaft, False), (CommitsOldTerms, True)])
def test_an_entry_of_an_old_term_counts_only_below_one_of_the_own(make: type[Raft], expected: bool) -> None:
    """Figure 8 of the paper: two voters have it, and the third leads next and writes over it."""
    cluster = Cluster(3, make=make)
    for leader in ("v0", "v2", "v0"):
        cluster.wire.clear()
        cluster.elect(leader, "v1")
        assert cluster.up[leader].role == "leader"
    cluster.wire = [found for found in cluster.wire if isinstance(found[2], Append) and found[1] == "v1"]
    for _ in range(4):  # an entry that does not fit, the answer, the one before it, the answer
        cluster.deliver(0)
    assert cluster.up["v1"].saved.log == cluster.up["v0"].saved.log[:1]
    assert (cluster.up["v0"].committed == 1) is expected
    cluster.wire.clear()
    if expected:
        with pytest.raises(AssertionError, match="than was committed"):
            cluster.elect("v2", "v1")
    else:
        cluster.elect("v2", "v1")
        assert cluster.up["v2"].role == "leader", "it has the newer entry"


def test_a_disk_that_forgets_a_vote_is_found() -> None:
    """A voter that is started without what it had saved."""
    cluster = Cluster(3)
    cluster.elect("v0", "v2")
    cluster.stop("v2")
    cluster.disks.clear()
    cluster.start("v2")
    cluster.up["v1"].receive("v2", GiveVote(0, False, True), cluster.now)
    with pytest.raises(AssertionError, match="both led in term 1"):
        cluster.elect("v1", "v2")


def test_a_leader_without_a_majority_steps_down_and_takes_nothing() -> None:
    cluster = Cluster(3)
    leader = cluster.heal()
    cluster.cut = frozenset({leader.own})
    for _ in range(12):
        cluster.tick(HEARTBEAT_S)
        cluster.deliver_all()
    assert leader.role != "leader"
    assert leader.propose(Holding("a", "0" * 64, leader.own), cluster.now) is None
    other = cluster.leader()
    assert other is not None and other.own != leader.own
    assert leader.saved.term < other.saved.term, "trial votes do not raise its term"
