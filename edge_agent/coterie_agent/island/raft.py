"""Raft without clock, network or disk: leader election, and a log of which voter holds which update.

After Ongaro and Ousterhout 2014, "In search of an understandable consensus algorithm" (USENIX ATC), figure 2, with
snapshots (§7). From Ongaro's thesis (2014): pre-votes (§9.6, here "trials"), so that a returning voter does not disturb
the others, and a leader without a majority steps down (§6.2). The set of voters is fixed.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from coterie_wire.island import MAX_HOLDINGS, Append, Appended, AskVote, Entry, GiveVote, Holding, RaftMessage, Snapshot

Role = Literal["follower", "on trial", "candidate", "leader"]


HEARTBEAT_S = 0.2
"""Seconds between two heartbeats of a leader."""
SHORTEST_S, LONGEST_S = 0.6, 1.2
"""Election timeout: seconds without a heartbeat before a voter starts a pre-vote."""


class Saved(msgspec.Struct, frozen=True):
    """The persistent state of a voter, which must be on the disk before messages that depend on it are sent."""

    term: int = 0
    voted_for: str | None = None
    """The vote in this term."""
    snapshot: Snapshot = Snapshot()
    log: tuple[Entry, ...] = ()
    """Entries after the snapshot."""

    @property
    def last_index(self) -> int:
        return self.snapshot.index + len(self.log)

    @property
    def last_term(self) -> int:
        return self.log[-1].term if self.log else self.snapshot.term

    def term_at(self, index: int) -> int | None:
        """The term of the entry at `index`; None: it is not in the log."""
        if index == self.snapshot.index:
            return self.snapshot.term
        if self.snapshot.index < index <= self.last_index:
            return self.log[index - self.snapshot.index - 1].term
        return None

    def after(self, index: int) -> tuple[Entry, ...]:
        """The entries after `index`, which is in the log or the last of the snapshot."""
        return self.log[index - self.snapshot.index :]

    def holdings(self, committed: int) -> Mapping[str, Holding]:
        """By assignment, the holder of its update, from the entries up to `committed`."""
        entries = self.log[: committed - self.snapshot.index]
        found = {one.assignment: one for one in self.snapshot.holdings}
        for entry in entries:
            if entry.holding is not None:
                found[entry.holding.assignment] = entry.holding
        return found


class Raft:
    """One voter. After each call store `saved`, and then send what `take` returns, in any order.

    Times are of a monotonic clock, in seconds.
    """

    KEPT_ENTRIES = 64
    """Log entries; more committed ones are moved into the snapshot."""
    BATCH = 64
    """Entries in one message."""
    MAX_OPEN = 256
    """Uncommitted entries."""

    def __init__(
        self,
        own: str,
        voters: Sequence[str],
        saved: Saved,
        *,
        rng: random.Random,
        now: float,
    ) -> None:
        self.own, self.saved, self.committed = own, saved, saved.snapshot.index
        self.role: Role = "follower"
        self.leader: str | None = None
        self._others = tuple(voter for voter in voters if voter != own)
        self._majority = len(voters) // 2 + 1
        self._rng = rng
        self._votes: set[str] = set()
        self._next: dict[str, int] = {}
        self._match: dict[str, int] = {}
        """By voter, the highest index known to match the leader's log (matchIndex)."""
        self._answered_at: dict[str, float] = {}
        self._outbox: list[tuple[str, RaftMessage]] = []
        self._leader_heard_at = -float("inf")
        """When the leader's last message arrived."""
        self.due_at = 0.0
        """Time of the next call of `tick`."""
        self._reset_timer(now)

    # Public methods.

    def tick(self, now: float) -> None:
        """Handle expired timers."""
        if now < self.due_at:
            return
        if self.role != "leader":
            self._begin_trial(now)
        elif len(self.live(now)) < self._majority:
            self._follow(self.saved.term, None, now)  # others may have another by now
        else:
            self._send_appends(now)

    def propose(self, holding: Holding, now: float) -> int | None:
        """The index of the new entry, which is valid once committed; None: this voter is not the leader, or is full."""
        waiting = self.saved.last_index - self.committed
        if self.role != "leader" or waiting >= self.MAX_OPEN or waiting + len(self.holdings()) >= MAX_HOLDINGS:
            return None
        self._write(Entry(self.saved.term, holding), now)
        return self.saved.last_index

    def receive(self, sender: str, message: RaftMessage, now: float) -> None:
        """Handle a message of another voter; late and repeated messages do no harm."""
        if sender not in self._others:
            return
        self._compact()
        if message.term > self.saved.term and not _is_of_a_trial(message):
            self._follow(message.term, None, now)
        match message:
            case AskVote():
                self._on_ask_vote(sender, message, now)
            case GiveVote():
                self._on_vote(sender, message, now)
            case Append():
                self._on_append(sender, message, now)
            case Appended():
                self._on_appended(sender, message, now)

    def take(self) -> Sequence[tuple[str, RaftMessage]]:
        """Messages to send, with their receivers."""
        found, self._outbox = self._outbox, []
        return found

    def live(self, now: float) -> frozenset[str]:
        """Voters that have answered the leader recently, itself included."""
        since = now - LONGEST_S
        return frozenset(voter for voter, at in self._answered_at.items() if at >= since) | {self.own}

    def holdings(self) -> Mapping[str, Holding]:
        """By assignment, the holder of its update, from committed entries."""
        return self.saved.holdings(self.committed)

    # Votes.

    def _begin_trial(self, now: float) -> None:
        self.role, self.leader = "on trial", None
        self._ask_votes(now, self.saved.term + 1, is_trial=True)

    def _become_candidate(self, now: float) -> None:
        self.role = "candidate"
        self.saved = msgspec.structs.replace(self.saved, term=self.saved.term + 1, voted_for=self.own)
        self._ask_votes(now, self.saved.term, is_trial=False)

    def _ask_votes(self, now: float, term: int, *, is_trial: bool) -> None:
        self._reset_timer(now)
        self._votes = {self.own}
        ask = AskVote(term, self.saved.last_index, self.saved.last_term, is_trial)
        self._outbox += [(voter, ask) for voter in self._others]

    def _on_ask_vote(self, sender: str, ask: AskVote, now: float) -> None:
        saved = self.saved
        is_up_to_date = (ask.last_term, ask.last_index) >= (saved.last_term, saved.last_index)
        if ask.is_trial:
            is_led = self.role == "leader" or now - self._leader_heard_at < SHORTEST_S
            is_given = is_up_to_date and ask.term > saved.term and not is_led
        else:
            is_given = is_up_to_date and ask.term == saved.term and self._may_vote_for(sender)
            if is_given:
                self.saved = msgspec.structs.replace(saved, voted_for=sender)
                self._reset_timer(now)
        self._outbox.append((sender, GiveVote(ask.term if is_given else saved.term, is_given, ask.is_trial)))

    def _may_vote_for(self, sender: str) -> bool:
        return self.saved.voted_for in (None, sender)

    def _on_vote(self, sender: str, vote: GiveVote, now: float) -> None:
        awaited = {"on trial": (self.saved.term + 1, True), "candidate": (self.saved.term, False)}.get(self.role)
        if not vote.is_given or (vote.term, vote.is_trial) != awaited:
            return
        self._votes.add(sender)
        if len(self._votes) < self._majority:
            return
        if vote.is_trial:
            self._become_candidate(now)
        else:
            self._become_leader(now)

    # Leading.

    def _become_leader(self, now: float) -> None:
        self.role, self.leader = "leader", self.own
        self._next = dict.fromkeys(self._others, self.saved.last_index + 1)
        self._match = dict.fromkeys(self._others, 0)
        self._answered_at = dict.fromkeys(self._votes, now)
        self._write(Entry(self.saved.term), now)  # commits the entries of earlier terms with it

    def _write(self, entry: Entry, now: float) -> None:
        self.saved = msgspec.structs.replace(self.saved, log=(*self.saved.log, entry))
        self._send_appends(now)

    def _send_appends(self, now: float) -> None:
        self.due_at = now + HEARTBEAT_S
        for voter in self._others:
            self._send_append(voter)

    def _send_append(self, voter: str) -> None:
        saved = self.saved
        after = max(self._next[voter] - 1, saved.snapshot.index)
        snapshot = saved.snapshot if self._next[voter] <= saved.snapshot.index else None
        after_term = saved.term_at(after)
        assert after_term is not None, "it is in the log, or the snapshot ends with it"
        entries = saved.after(after)[: self.BATCH]
        append = Append(saved.term, after, after_term, entries, self.committed, snapshot)
        self._outbox.append((voter, append))

    def _on_appended(self, sender: str, appended: Appended, now: float) -> None:
        if self.role != "leader" or appended.term != self.saved.term:
            return
        self._answered_at[sender] = now
        if not appended.is_same:
            before = self._next[sender]
            self._next[sender] = max(self._match[sender] + 1, min(before - 1, appended.index + 1))
            if self._next[sender] != before:
                self._send_append(sender)
        elif appended.index > self._match[sender] and appended.index <= self.saved.last_index:
            self._match[sender] = appended.index
            self._next[sender] = max(self._next[sender], appended.index + 1)
            self._commit()
            if appended.index < self.saved.last_index:
                self._send_append(sender)

    def _commit(self) -> None:
        """Commit up to the index that a majority has, if that entry is of this term (figure 8)."""
        reached = sorted((self.saved.last_index, *self._match.values()), reverse=True)[self._majority - 1]
        if reached > self.committed and self._may_commit(reached):
            self.committed = reached

    def _may_commit(self, index: int) -> bool:
        return self.saved.term_at(index) == self.saved.term

    # Following.

    def _on_append(self, sender: str, append: Append, now: float) -> None:
        if append.term < self.saved.term:
            self._outbox.append((sender, Appended(self.saved.term, 0, is_same=False)))
            return
        self._follow(append.term, sender, now)
        if append.snapshot is not None:
            self._install(append.snapshot)
        after, entries, saved = append.after, append.entries, self.saved
        if after < saved.snapshot.index:  # earlier entries are in the snapshot, which is committed
            entries, after = entries[saved.snapshot.index - after :], saved.snapshot.index
        elif saved.term_at(after) != append.after_term:
            index = max(self.committed, min(saved.last_index, after - 1))
            self._outbox.append((sender, Appended(saved.term, index, is_same=False)))
            return
        reached = append.after + len(append.entries)
        self._append_entries(after, entries)
        self.committed = max(self.committed, min(append.committed, reached))
        self._outbox.append((sender, Appended(saved.term, reached, is_same=True)))

    def _append_entries(self, after: int, entries: Sequence[Entry]) -> None:
        """Append `entries` after index `after`; matching ones stay, a conflicting one and all after it are replaced."""
        for number, entry in enumerate(entries):
            index = after + number + 1
            if self.saved.term_at(index) != entry.term:
                kept = self.saved.log[: index - 1 - self.saved.snapshot.index]
                self.saved = msgspec.structs.replace(self.saved, log=(*kept, *entries[number:]))
                return

    def _install(self, snapshot: Snapshot) -> None:
        if snapshot.index <= self.committed:
            return
        is_known = self.saved.term_at(snapshot.index) == snapshot.term
        log = self.saved.after(snapshot.index) if is_known else ()
        self.saved = msgspec.structs.replace(self.saved, snapshot=snapshot, log=log)
        self.committed = snapshot.index

    def _compact(self) -> None:
        saved = self.saved
        if self.committed - saved.snapshot.index <= self.KEPT_ENTRIES:
            return
        term = saved.term_at(self.committed)
        assert term is not None, "it is committed, and not in the snapshot yet"
        snapshot = Snapshot(self.committed, term, tuple(self.holdings().values()))
        self.saved = msgspec.structs.replace(saved, snapshot=snapshot, log=saved.after(self.committed))

    def _follow(self, term: int, leader: str | None, now: float) -> None:
        if term > self.saved.term:
            self.saved = msgspec.structs.replace(self.saved, term=term, voted_for=None)
        if leader is not None:
            self._leader_heard_at = now
        if leader is not None or self.role == "leader":
            self._reset_timer(now)
        self.role, self.leader = "follower", leader

    def _reset_timer(self, now: float) -> None:
        self.due_at = now + self._rng.uniform(SHORTEST_S, LONGEST_S)


def _is_of_a_trial(message: RaftMessage) -> bool:
    """Whether the message names a term that has not begun."""
    match message:
        case AskVote():
            return message.is_trial
        case GiveVote():
            return message.is_trial and message.is_given
        case _:
            return False
