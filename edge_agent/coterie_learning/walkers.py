"""Walkers: a few models move over the devices of a round, with training and averaging at each, while the others wait.

After Takezawa and Stich 2025, "Scalable decentralized learning with teleportation" (arXiv 2501.15259), Algorithm 1: at
each meeting other devices are drawn; each continues from the model of one that was at the previous meeting, trains, and
averages with those drawn with it. Here all that were drawn average together, where the paper averages over a sparse
graph, so that all of them have the same model afterwards and any of them can be taken over. With all devices drawn each
time, this is gossip with a complete graph.

The result of a round is the mean of the models of all devices after their last meetings, rather than the last of these
models, which is biased to the data of those who were drawn last (2 to 3 points on digits of which each device has few
classes). This is Polyak-Ruppert averaging over the last steps (Polyak and Juditsky 1992, doi 10.1137/0330046).
"""

from collections.abc import Callable, Sequence

from coterie_learning.random import permutation


def walkers_of(members: Sequence[str], meeting: int, *, walkers: int, seed: int) -> tuple[str, ...]:
    """The devices at meeting number `meeting` (from 0), in the order of their names; at most `walkers`.

    The same for everybody who knows `members`, in whatever order, and `seed`. Each device is drawn once until all have
    been drawn, and then all again in another order.
    """
    names = sorted(members)
    if not names:
        return ()
    parts = -(-len(names) // walkers)
    cycle, part = divmod(meeting, parts)
    order = permutation(len(names), seed, "walkers", cycle)
    return tuple(sorted(names[place] for place in order[len(names) * part // parts : len(names) * (part + 1) // parts]))


class Turn:
    """A device's wait for its next meeting, based on what others report.

    A device that reports to be at meeting m was at an earlier one and continues from its result, or has taken over a
    model for m. So all meetings before m are over, as far as the rest of the round is concerned. Clock and network are
    the caller's.
    """

    def __init__(
        self, until: int, drawn: Callable[[int], Sequence[str]], *, at: int, wait_s: float, turn_s: float, now_s: float
    ) -> None:
        """The device waits for meeting `until`; `drawn` gives a meeting's devices; `at` is the current or next one.

        A meeting is skipped when none of its devices has started it within `wait_s`, or ended it within `turn_s`.
        """
        self.until, self.at = until, at
        self._drawn, self._wait_s, self._turn_s = drawn, wait_s, turn_s
        self._since_s, self._has_begun = now_s, False
        self._positions: dict[str, int] = {}

    @property
    def members_to_ask(self) -> Sequence[str]:
        """Devices that know whether the current meeting is over."""
        return self._drawn(self.at)

    @property
    def next_s(self) -> float:
        """When the current meeting is skipped, unless there is a further report."""
        return self._since_s + (self._turn_s if self._has_begun else self._wait_s)

    def record_position(self, member: str, at: int, now_s: float) -> None:
        """Record that `member` is at meeting `at`. Two members at later meetings confirm that the current one is over;
        a single one ends only the meeting for which it was drawn.
        """
        self._positions[member] = at
        if at > self.at:
            confirmed = sorted(self._positions.values())[-2:][0] if len(self._positions) > 1 else 0
            self.at, self._since_s, self._has_begun = max(self.at + 1, confirmed), now_s, False
        elif at == self.at and not self._has_begun:
            self._since_s, self._has_begun = now_s, True

    def has_come(self, now_s: float) -> bool:
        """Whether the device's own meeting is due."""
        while self.at < self.until and now_s >= self.next_s:
            self.at, self._since_s, self._has_begun = self.at + 1, now_s, False
        return self.at >= self.until
