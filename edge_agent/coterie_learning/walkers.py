"""Walkers: a few models hop over the devices of a round, a training and a meeting at each, while the others wait.

After Takezawa and Stich 2025, "Scalable decentralized learning with teleportation" (arXiv 2501.15259), Algorithm 1: at
each meeting other devices are drawn, each goes on from the model of one that was at the meeting before, trains, and
averages with those that were drawn with it. Here all that were drawn average at once, where the paper has them average
over a sparse graph, so that all of them have one model afterwards and it does not matter whose is taken over. With all
devices drawn each time, this is gossip with a complete graph.

What comes of a round is the mean of the models that all devices had after their last meetings, rather than the last one
of these: that one leans to the data of those who were drawn last (2 to 3 points on digits of which each device has few
classes). Means over the last steps are those of Polyak and Juditsky 1992 (doi 10.1137/0330046).
"""

from collections.abc import Callable, Sequence

from coterie_learning.random import permutation


def walkers_of(members: Sequence[str], meeting: int, *, walkers: int, seed: int) -> tuple[str, ...]:
    """Who is at meeting number `meeting` (from 0), in the order of their names: `walkers` of them, at most.

    The same for everybody who knows `members`, in whatever order, and `seed`. Each device is drawn once in as many
    meetings as it takes to draw all, and then all again in another order.
    """
    names = sorted(members)
    if not names:
        return ()
    parts = -(-len(names) // walkers)
    cycle, part = divmod(meeting, parts)
    order = permutation(len(names), seed, "walkers", cycle)
    return tuple(sorted(names[place] for place in order[len(names) * part // parts : len(names) * (part + 1) // parts]))


class Turn:
    """A device waits for its next meeting, by what others say.

    A device that says that it is at meeting m has been at one before, and goes on from what that came to, or has taken
    over a model for m. So all meetings before m are over, as far as the rest of the round is concerned. Without clock
    and network: both are the caller's.
    """

    def __init__(
        self, until: int, drawn: Callable[[int], Sequence[str]], *, at: int, wait_s: float, turn_s: float, now_s: float
    ) -> None:
        """The device waits for meeting `until`; `drawn` says who is at a meeting, of which `at` is under way or next.

        A meeting is passed over once none of its devices has begun for `wait_s`, or ended it for `turn_s`.
        """
        self.until, self.at = until, at
        self._drawn, self._wait_s, self._turn_s = drawn, wait_s, turn_s
        self._since_s, self._has_begun = now_s, False
        self._said: dict[str, int] = {}

    @property
    def asked(self) -> Sequence[str]:
        """Who knows whether the meeting is over that is under way."""
        return self._drawn(self.at)

    @property
    def next_s(self) -> float:
        """When the meeting that is under way is passed over, unless somebody says more of it."""
        return self._since_s + (self._turn_s if self._has_begun else self._wait_s)

    def hear(self, member: str, at: int, now_s: float) -> None:
        """One that is asked is at that meeting. Two that are beyond the own one say that it is over; a single one ends
        no more than the meeting for which it was drawn.
        """
        self._said[member] = at
        if at > self.at:
            confirmed = sorted(self._said.values())[-2:][0] if len(self._said) > 1 else 0
            self.at, self._since_s, self._has_begun = max(self.at + 1, confirmed), now_s, False
        elif at == self.at and not self._has_begun:
            self._since_s, self._has_begun = now_s, True

    def has_come(self, now_s: float) -> bool:
        """Whether it is time."""
        while self.at < self.until and now_s >= self.next_s:
            self.at, self._since_s, self._has_begun = self.at + 1, now_s, False
        return self.at >= self.until
