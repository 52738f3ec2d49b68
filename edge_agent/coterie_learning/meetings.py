"""Gossip: devices meet in small groups, and the members of a group average their models, without a server.

The groups are those of Moshpit SGD (Ryabinin et al. 2021, arXiv 2103.03239, Algorithm 1): devices have places in a
grid, and a group consists of those that differ in one coordinate only, a different one at each meeting, so that g^d
devices in groups of g agree exactly after d meetings if none is absent. Inside a group each member averages one share
of the parameters for all (butterfly all-reduce, ibid. §3.1): a member sends less than two models, however large the
group. Groups of two are D-PSGD (Lian et al. 2017, arXiv 1705.09056) on a graph that changes with each meeting.
Averages are weighted by samples, like those of rounds: a meeting preserves the weighted mean of its members'
parameters, so that the mean over all devices changes only by training.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.exact_sum import LARGEST, WeightedNumbers, add_numbers, mean
from coterie_learning.flat import flat, unflat
from coterie_learning.random import derive_seed, permutation
from coterie_learning.walkers import walkers_of
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

MOST_WEIGHT = (1 << 16) - 1
"""Largest weight of one device in a meeting."""
MOST_MEMBERS = 32
"""Largest number of members of one group, so that sums of their weights are exact."""
ROW = 256
"""Parameters in a row, for which a codec may have a scale."""


class MeetingRules(NamedTuple):
    """How the devices of a round meet."""

    meetings: int
    """Meetings in a round that each follow a training of the device on its own samples."""
    settling: int
    """Meetings after these without a training, so that the devices agree at the end of the round."""
    group: int
    """Largest number of devices in one group."""
    wait_s: float
    """Seconds that a device waits for the others of its group; then the meeting takes place with those present."""
    clips: bool = True
    """Whether each device mixes others' models itself and bounds their influence (`coterie_learning.clipping`)."""
    turn_s: float | None = None
    """None: all devices come to each meeting, in groups. Else one group does (`coterie_learning.walkers`), and those of
    the next begin without its model once it has taken longer than so many seconds, training included."""

    @property
    def in_all(self) -> int:
        """The number of meetings of both kinds; they are numbered from 0."""
        return self.meetings + self.settling

    def group_of(self, own: str, members: Sequence[str], meeting: int, *, seed: int) -> tuple[str, ...] | None:
        """The group of the device `own` at this meeting; None: it takes no part."""
        if self.turn_s is not None:
            walkers = walkers_of(members, meeting, walkers=self.group, seed=seed)
            return walkers if own in walkers else None
        groups = groups_of(members, meeting, group=self.group, seed=seed)
        return next((one for one in groups if own in one), None)


def groups_of(members: Sequence[str], meeting: int, *, group: int, seed: int) -> Sequence[tuple[str, ...]]:
    """The groups of meeting number `meeting` (from 0), each in the order of its members' names.

    The same for everybody who knows `members`, in whatever order, and `seed`. A cycle has as many meetings as the grid
    has axes; each cycle gives the devices new places.
    """
    names = sorted(members)
    if not names:
        return ()
    sides = grid(len(names), group)
    cycle, axis = divmod(meeting, len(sides))
    order = permutation(len(names), seed, "cycle", cycle)
    stride = math.prod(sides[:axis])
    found: dict[tuple[int, int], list[str]] = {}
    for place, index in enumerate(order):
        apart = (place % stride, place // (stride * sides[axis]))  # the place without the coordinate of this axis
        found.setdefault(apart, []).append(names[index])
    return [tuple(sorted(one)) for one in found.values()]


def grid(count: int, group: int) -> Sequence[int]:
    """The sides of the smallest, most even grid of at most `group` places a side that has room for `count`."""
    axes = 1
    while group**axes < count:
        axes += 1
    sides: list[int] = []
    for left in range(axes, 0, -1):
        room = -(-count // math.prod(sides))
        side = max(1, math.ceil(round(room ** (1 / left), 9)))
        sides.append(min(side, group))
    return sides


def share_specs(parameters: int, members: int, place: int) -> tuple[TensorSpec, ...]:
    """Specs of the tensors that encode share number `place` out of `members` shares."""
    start, stop = _span(parameters, members, place)
    return row_specs(stop - start)


def row_specs(numbers: int) -> tuple[TensorSpec, ...]:
    """Specs of the tensors that encode so many numbers."""
    rows, rest = divmod(numbers, ROW)
    return (TensorSpec("rest", "float32", (rest,)), TensorSpec("rows", "float32", (rows, ROW)))


def encode_whole(difference: Tensors, codec: Codec, *, seed: int) -> bytes:
    """The payload for a device that has missed meetings and restarts from another one's parameters.

    Raises WireError ``update.not_finite``.
    """
    return codec.encode(difference, seed=derive_seed(seed, "whole")).payload


def decode_whole(payload: bytes, codec: Codec, specs: tuple[TensorSpec, ...]) -> Tensors:
    """The inverse of `encode_whole`. Raises WireError ``update.*``."""
    difference = codec.decode(payload, expected=specs)
    _check(flat(difference, np.float32))
    return difference


class Meeting:
    """One device's part in one meeting, without clock or network.

    First the members find out who is present (`mark_present`); the first of them by name fixes the list, and the others
    `adopt` it. Then each sends every other its share, averages the shares that it received, and receives the others'
    averages. All who complete a meeting that nobody leaves have the same bits.
    """

    def __init__(
        self,
        *,
        own: str,
        group: Sequence[str],
        difference: Tensors,
        specs: tuple[TensorSpec, ...],
        weight: int,
        codec: Codec,
        seed: int,
    ) -> None:
        """`difference` of the own parameters, of specs `specs`, from the version's; `seed` is the device's.

        Raises WireError ``update.out_of_range`` where a number is too large to be averaged.
        """
        if own not in group or not 1 <= len(group) <= MOST_MEMBERS or not 1 <= weight <= MOST_WEIGHT:
            raise ValueError(f"{own} with weight {weight} in a group of {len(group)}")
        self.own, self.group, self.weight = own, tuple(sorted(group)), weight
        self._codec, self._seed, self._specs = codec, seed, specs
        self._vector: Float32 = flat(difference, np.float32)
        _check(self._vector)
        self._present, self._list = {own}, tuple[str, ...]()
        self._shares: dict[str, tuple[int, Float32]] = {}
        self._averages: dict[str, Float32] = {}
        self._average = b""

    @property
    def absent(self) -> Sequence[str]:
        """Members of the group that have not been seen."""
        return [member for member in self.group if member not in self._present]

    @property
    def leader(self) -> str:
        """The member that fixes the list, as far as this device knows."""
        return min(self._present)

    @property
    def members(self) -> tuple[str, ...]:
        """The list of members; empty until it is fixed."""
        return self._list

    @property
    def others(self) -> Sequence[str]:
        """The list without the device itself."""
        return [member for member in self._list if member != self.own]

    def mark_present(self, member: str) -> None:
        """Record that `member` of the group is present; no effect once the list is fixed."""
        if member in self.group:
            self._present.add(member)

    def fix_members(self) -> None:
        """Fix the list to those present; the others are too late."""
        if not self._list:
            self._begin(tuple(sorted(self._present)))

    def adopt(self, members: Sequence[str]) -> bool:
        """Take over the leader's list; False where it is not one of this group, or lacks this device."""
        listed = tuple(members)
        if not self._list and self.own in listed and set(listed) <= set(self.group) and listed == _in_order(listed):
            self._begin(listed)
        return self._list == listed

    def share_for(self, member: str) -> bytes:
        """The share sent to `member`, to be averaged. Raises WireError ``update.not_finite``."""
        place = self._list.index(member)
        return self._encoded(self._slice(place), derive_seed(self._seed, "share", member))

    def add_share(self, member: str, weight: int, payload: bytes) -> bool:
        """Whether the share that `member` sent counts; a repeated one counts once.

        It does not count where it is too late, or where `member` is not in the list. Raises WireError ``update.*``.
        """
        if member in self._shares and member != self.own:
            return True
        if member not in self.others or self._is_late() or not 1 <= weight <= MOST_WEIGHT:
            return False
        numbers = self._decoded(payload, self.own)
        _check(numbers)
        self._shares[member] = (weight, numbers)
        return True

    def _is_late(self) -> bool:
        """Whether further shares are too late."""
        return bool(self._average)

    @property
    def share_senders(self) -> Sequence[str]:
        """Others whose shares count."""
        return [member for member in self.others if member in self._shares]

    @property
    def far(self) -> Sequence[str]:
        """Others whose models are outliers among those received; known at the end, if at all."""
        return ()

    @property
    def missing_shares(self) -> Sequence[str]:
        """Members whose shares have not arrived."""
        return [member for member in self.others if member not in self._shares]

    def average(self, *, anyway: bool = False) -> bytes | None:
        """The average of the received shares, as sent to others; None while some are missing, unless `anyway`."""
        if not self._list or (self.missing_shares and not anyway and not self._average):
            return None
        if not self._average:
            place = self._list.index(self.own)
            total = np.zeros(self._slice(place).size, np.int64)
            add_numbers(total, [WeightedNumbers(numbers, weight) for weight, numbers in self._shares.values()])
            weights = sum(weight for weight, _ in self._shares.values())
            seed = derive_seed(self._seed, "average", self.own)
            self._average = self._encoded(mean(total, weights).astype(np.float32), seed)
            self._averages[self.own] = self._decoded(self._average, self.own)
        return self._average

    def add_average(self, member: str, payload: bytes) -> None:
        """Receive the average that `member` computed. Raises WireError ``update.*``."""
        numbers = self._decoded(payload, member)
        _check(numbers)
        self._averages[member] = numbers

    @property
    def missing_averages(self) -> Sequence[str]:
        """Members whose averages have not arrived."""
        return [member for member in self.others if member not in self._averages]

    def end(self) -> Tensors:
        """The device's new difference from the version; where an average is missing, its own."""
        vector = self._vector.copy()
        for member, numbers in self._averages.items():
            start, stop = _span(vector.size, len(self._list), self._list.index(member))
            vector[start:stop] = numbers
        return unflat(vector, self._specs)

    def _begin(self, members: tuple[str, ...]) -> None:
        self._list = members
        self._shares[self.own] = (self.weight, self._slice(members.index(self.own)))

    def _slice(self, place: int) -> Float32:
        start, stop = _span(self._vector.size, len(self._list), place)
        return self._vector[start:stop]

    def _share_specs(self, member: str) -> tuple[TensorSpec, ...]:
        return share_specs(self._vector.size, len(self._list), self._list.index(member))

    def _encoded(self, numbers: Float32, seed: int) -> bytes:
        whole = numbers.size // ROW * ROW
        share = {"rest": numbers[whole:], "rows": numbers[:whole].reshape(-1, ROW)}
        return self._codec.encode(share, seed=seed).payload

    def _decoded(self, payload: bytes, member: str) -> Float32:
        share = self._codec.decode(payload, expected=self._share_specs(member))
        return np.concatenate([share["rows"].reshape(-1), share["rest"]])


def _span(parameters: int, members: int, place: int) -> tuple[int, int]:
    return parameters * place // members, parameters * (place + 1) // members


def _in_order(members: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(members)))


def _check(numbers: Float32) -> None:
    if not np.all(np.abs(numbers) < LARGEST):  # also false for NaN
        raise WireError("update.out_of_range", f"a parameter moved by {LARGEST:g} or more, too far to be averaged")
