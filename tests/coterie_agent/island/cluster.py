"""Voters on a network that loses, repeats, reorders and parts, and stops and starts them; the clock is theirs alone."""

import random
from dataclasses import dataclass, field

import msgspec

from coterie_agent.island.raft import LONGEST_S, Raft, Saved
from coterie_wire.island import AskVote, Entry, GiveVote, Holding, RaftMessage
from coterie_wire.structs import from_json


@dataclass
class Cluster:
    """Checks after each step what Raft promises (figure 3 of its paper)."""

    size: int
    seed: int = 0
    make: type[Raft] = Raft
    now: float = 0.0
    up: dict[str, Raft] = field(default_factory=dict)
    disks: dict[str, bytes] = field(default_factory=dict)
    wire: list[tuple[str, str, RaftMessage]] = field(default_factory=list)
    cut: frozenset[str] = frozenset()
    """Voters that reach only one another."""
    leaders: dict[int, str] = field(default_factory=dict)
    """By term, who led in it."""
    committed: dict[int, Entry] = field(default_factory=dict)
    """By index, what was committed somewhere at some time."""
    _seen: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = [f"v{number}" for number in range(self.size)]
        self.rng = random.Random(self.seed)
        for name in self.names:
            self.start(name)

    def start(self, name: str) -> None:
        saved = from_json(self.disks[name], Saved) if name in self.disks else Saved()
        own = random.Random(self.rng.random())
        self.up[name] = self.make(name, self.names, saved, rng=own, now=self.now)

    def stop(self, name: str) -> None:
        """As a flat battery would: what is not on its disk is lost."""
        self.up.pop(name, None)
        self._seen.pop(name, None)

    def tick(self, seconds: float) -> None:
        self.now += seconds
        for name, raft in self.up.items():
            raft.tick(self.now)
            self._settle(name)

    def deliver(self, position: int, *, keep: bool = False) -> None:
        """One of what is under way, wherever it is in the order; it may come again where `keep` says so."""
        if self.wire:
            at = position % len(self.wire)
            sender, to, message = self.wire[at] if keep else self.wire.pop(at)
            if to in self.up and (sender in self.cut) == (to in self.cut):
                self.up[to].receive(sender, message, self.now)
                self._settle(to)

    def deliver_all(self) -> None:
        while self.wire:
            self.deliver(0)

    def propose(self, name: str, number: int) -> None:
        if name in self.up:
            self.up[name].propose(Holding(f"a{number % 7}", f"{number:064x}", name), self.now)
            self._settle(name)

    def leader(self) -> Raft | None:
        return max(
            (raft for raft in self.up.values() if raft.role == "leader"), key=lambda one: one.saved.term, default=None
        )

    def elect(self, name: str, helper: str) -> None:
        """Its patience ends before that of others, and one of them hears of it."""
        for _ in range(4):  # an old leader steps down, an old term is heard of, a trial and the vote
            if name not in self.up or name == helper:
                return
            self.now += 2 * LONGEST_S
            self.up[name].due_at = self.now
            self.up[name].tick(self.now)
            self._settle(name)
            for _ in range(4):
                for position, (sender, to, message) in reversed(list(enumerate(self.wire))):
                    if {sender, to} == {name, helper} and isinstance(message, AskVote | GiveVote):
                        self.deliver(position)
            if self.up[name].role == "leader":
                return

    def talk(self, one: str, other: str, messages: int) -> None:
        """The next that these two say to each other, in order."""
        for _ in range(messages):
            between = [at for at, (sender, to, _) in enumerate(self.wire) if {sender, to} == {one, other}]
            if not between:
                return
            self.deliver(between[0])

    def heal(self) -> Raft:
        """All is well for long enough; the leader that there must be then."""
        self.cut = frozenset()
        for name in self.names:
            if name not in self.up:
                self.start(name)
        for _ in range(120):
            self.tick(LONGEST_S / 6)
            self.deliver_all()
        found = self.leader()
        assert found is not None, "a majority has found no leader"
        return found

    def _settle(self, name: str) -> None:
        """What is to be remembered is written before anything is sent."""
        raft = self.up[name]
        state = (raft.role, raft.committed, raft.saved)
        self.wire += [(name, to, message) for to, message in raft.take()]
        if self._seen.get(name) != state:
            self._seen[name] = state
            self.disks[name] = msgspec.json.encode(raft.saved)
            self._check(name, raft)

    def _check(self, name: str, raft: Raft) -> None:
        saved = raft.saved
        if raft.role == "leader":  # election safety
            known = self.leaders.setdefault(saved.term, name)
            assert known == name, f"{known} and {name} both led in term {saved.term}"
            for index, entry in self.committed.items():  # leader completeness
                if index > saved.snapshot.index:
                    assert index <= saved.last_index, f"the leader lacks entry {index}"
                    found = saved.log[index - saved.snapshot.index - 1]
                    assert found == entry, f"the leader has another entry {index} than was committed"
        for index in range(saved.snapshot.index + 1, raft.committed + 1):  # state machine safety
            entry = saved.log[index - saved.snapshot.index - 1]
            known_entry = self.committed.setdefault(index, entry)
            assert known_entry == entry, f"entry {index} was committed twice, with other contents"
        for other in self.up.values():  # log matching
            self._check_matching(saved, other.saved)
        expected = Saved(log=tuple(self.committed[index] for index in range(1, raft.committed + 1)))
        assert raft.holdings() == expected.holdings(raft.committed)

    @staticmethod
    def _check_matching(one: Saved, other: Saved) -> None:
        first = max(one.snapshot.index, other.snapshot.index) + 1
        last = min(one.last_index, other.last_index)
        same = [one.term_at(index) == other.term_at(index) for index in range(first, last + 1)]
        agreed = max((number for number, is_same in enumerate(same) if is_same), default=-1)
        assert all(same[: agreed + 1]), "two logs agree in an entry and differ before it"
        for index in range(first, first + agreed + 1):
            found, wanted = (log.log[index - log.snapshot.index - 1] for log in (one, other))
            assert found == wanted, "one term wrote two entries at one place"
