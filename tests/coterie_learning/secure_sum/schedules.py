"""Secure sums under a drawn schedule: who is lost when, who is asked again, who lies, and what a lying platform asks.

Each member is restarted after whatever it does: its state goes through JSON. A schedule ends with the sum of those who
delivered, bit for bit, or with the code of the error that ended it; anything else is an AssertionError.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import msgspec
import numpy as np
from nacl.signing import SigningKey

from coterie_learning.secure_sum import masks, party, recovery
from coterie_learning.secure_sum.identities import EMPTY
from coterie_learning.secure_sum.members import MemberList, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout, Vector, added, encode_vector, open_vector
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Box, Member, Share
from coterie_wire.tensor_files import InMemory
from tests.coterie_learning.secure_sum.session import vector_of

LAYOUT = Layout(length=10, bits=16, tail=2)
ENDS = {"secure_sum.too_few", "secure_sum.too_few_shared", "secure_sum.too_few_shares", "secure_sum.wrong_share"}
"""What a sum may end with, if it does not end well."""


class Ending(NamedTuple):
    """How a schedule went."""

    code: str
    """``right``, or that of the error."""
    lied: bool
    """Whether a member revealed wrong shares to a platform that recovered the sum."""
    refused: Counter[str]
    """What members refused to a lying platform, by code."""


def run(seed: int) -> Ending:
    """One schedule."""
    return _Schedule(seed).run()


class _Schedule:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = self.rng.randint(5, 10)
        self.terms = SumTerms(self.rng.randint(2, 3), 0.0, 0.3, self.rng.choice(["curious", "split_view"]))
        if self.rng.random() < 0.5:
            self.terms = self.terms._replace(corrupted=0.2, dropped=0.2)
        self.loss = self.rng.choice([0.0, 0.05, 0.15])
        self.refused = Counter[str]()

    def run(self) -> Ending:
        try:
            threshold = self.terms.graph(self.count).threshold
        except WireError as error:
            return Ending(error.code, False, self.refused)
        bad = int(self.terms.corrupted * self.count)
        hostile = set(self.rng.sample(range(self.count), self.rng.randint(0, min(bad, threshold - 1))))
        try:
            liars = self._session(hostile)
        except WireError as error:
            assert error.code in ENDS, error
            return Ending(error.code, False, self.refused)
        return Ending("right", bool(liars), self.refused)

    def _session(self, hostile: set[int]) -> set[int]:
        found, states = self._join()
        boxes = self._share(found, states, hostile)
        shared = {box.sender for box in boxes}
        vectors, files = self._mask(found, states, boxes)
        survivors = sorted(files)
        revealed = self._reveal(found, states, survivors, shared)
        liars = set()
        for place in hostile & set(revealed):
            if self.rng.random() < 0.7:
                revealed[place] = [self._spoilt(share) for share in revealed[place]] + self._nonsense(place)
                liars.add(place)
        recovered = recovery.recover(found, self.terms, shared=shared, survivors=survivors, revealed=revealed)
        opened = [open_vector(InMemory(files[place]), LAYOUT, found.digest) for place in survivors]
        wanted = added([vectors[place] for place in survivors])
        total = recovery.unmasked(opened, LAYOUT, recovered.masks)
        assert np.array_equal(total.numbers, wanted.numbers), "a wrong sum"
        assert np.array_equal(total.tail, wanted.tail), "a wrong sum"
        assert recovered.liars <= hostile, "an honest member is named"
        assert liars <= recovered.liars, "a liar is not named"
        return liars

    def _join(self) -> tuple[MemberList, dict[int, PartyState]]:
        identities = [SigningKey(bytes([1 + number, *bytes(31)])) for number in range(self.count)]
        parts = [party.join("session", f"device-{number}", identity) for number, identity in enumerate(identities)]
        entries = [part.member for part in parts]
        for wrong in self._wrong_lists(entries):
            self._refused(member_list, "session", wrong, EMPTY)
        found = member_list("session", self.rng.sample(entries, len(entries)), EMPTY)
        return found, {found.place_of(part.state.device): part.state for part in parts}

    def _wrong_lists(self, entries: Sequence[Member]) -> Iterable[Sequence[Member]]:
        """Of a platform that tries keys of its own, or a member twice."""
        first, *rest = entries
        key = masks.public_key(bytes([self.rng.randrange(256)] * 32))
        yield [msgspec.structs.replace(first, mask=key), *rest]
        yield [first, *entries]
        yield [msgspec.structs.replace(first, channel=bytes(32)), *rest]

    def _share(self, found: MemberList, states: dict[int, PartyState], hostile: set[int]) -> list[Box]:
        boxes: list[Box] = []
        for place in self._those_who_stay(states):
            lonely = found._replace(members=(found.members[place],))
            elsewhere = found._replace(session="another")
            before = states[place]
            for other in (lonely, elsewhere):
                self._refused(party.share, before, other, self.terms)
            states[place] = _restarted(party.share(before, found, self.terms))
            assert party.share(states[place], found, self.terms) == states[place], "it does not repeat itself"
            changed = found._replace(members=found.members[:-1])
            self._refused(party.share, states[place], changed, self.terms)
            sent = list(states[place].sent)
            recovery.check_boxes(found, place, sent, self.terms)
            self._refused(recovery.check_boxes, found, place, sent[1:], self.terms)
            if place in hostile and self.rng.random() < 0.5:
                spoilt = self.rng.randrange(len(sent))
                sent[spoilt] = msgspec.structs.replace(sent[spoilt], content=self.rng.randbytes(82))
            boxes += sent
        return boxes

    def _mask(
        self, found: MemberList, states: dict[int, PartyState], boxes: Sequence[Box]
    ) -> tuple[dict[int, Vector], dict[int, bytes]]:
        vectors: dict[int, Vector] = {}
        files: dict[int, bytes] = {}
        senders = {box.sender for box in boxes}
        for place in self._those_who_stay([place for place in states if place in senders]):
            vector, state, mine = vector_of(place, LAYOUT), states[place], recovery.boxes_for(place, boxes)
            self._refused(party.reveal, state, [0, 1, 2], self.terms)
            others = [msgspec.structs.replace(box, content=self.rng.randbytes(82)) for box in mine]
            for wrong in (
                others,
                (*mine, *mine),
                mine[:0],
                [msgspec.structs.replace(mine[0], sender=place)] if mine else [],
            ):
                self._refused(party.mask, state, wrong, vector, self.terms)
            masked = party.mask(state, mine, vector, self.terms)
            states[place] = _restarted(masked.state)
            self._refused(party.mask, states[place], mine, vector, self.terms)
            if self.rng.random() >= self.loss / 2:  # else its upload is lost
                vectors[place], files[place] = vector, encode_vector(masked.vector, found.digest)
        return vectors, files

    def _reveal(
        self, found: MemberList, states: dict[int, PartyState], survivors: Sequence[int], shared: set[int]
    ) -> dict[int, Sequence[Share]]:
        revealed: dict[int, Sequence[Share]] = {}
        for place in self._those_who_stay(survivors):
            state = states[place]
            without = [other for other in survivors if other != place]
            for wrong in (without, [*survivors, survivors[-1]], [*survivors, self.count], [place]):
                self._refused(party.reveal, state, wrong, self.terms)
            answer = party.reveal(state, survivors, self.terms)
            states[place], revealed[place] = _restarted(answer.state), answer.shares
            assert party.reveal(states[place], survivors, self.terms) == answer, "it does not repeat itself"
            for other in {*shared, *survivors} - {place}:
                changed = sorted({*survivors} ^ {other})
                self._refused(party.reveal, states[place], changed, self.terms)
            owners = [share.owner for share in answer.shares]
            assert len(set(owners)) == len(owners), "both shares of one device"
        return revealed

    def _those_who_stay(self, places: Iterable[int]) -> list[int]:
        staying = [place for place in places if self.rng.random() >= self.loss]
        return self.rng.sample(staying, len(staying))

    def _refused(self, act: Callable[..., object], *arguments: object) -> None:
        try:
            act(*arguments)
        except WireError as error:
            assert error.code.startswith("secure_sum."), error
            self.refused[error.code] += 1
        else:
            raise AssertionError("a lie was believed")

    def _spoilt(self, share: Share) -> Share:
        return msgspec.structs.replace(share, share=self.rng.randbytes(33))

    def _nonsense(self, place: int) -> list[Share]:
        """Shares that nobody asked it for."""
        other = self.rng.randrange(self.count)
        return [Share(place, "own_mask", self.rng.randbytes(33)), Share(other, "pair_masks", self.rng.randbytes(33))]


def _restarted(state: PartyState) -> PartyState:
    return msgspec.json.decode(msgspec.json.encode(state), type=PartyState)


def main(count: int, first: int = 1_000_000) -> None:
    """Run so many schedules, which the suite does not, and print how they ended."""
    endings, lied, refused = Counter[str](), 0, Counter[str]()
    with ProcessPoolExecutor() as pool:
        for ending in pool.map(run, range(first, first + count), chunksize=50):
            endings[ending.code] += 1
            lied += ending.lied
            refused += ending.refused
    sys.stdout.write(f"{count} schedules, no wrong sum: {dict(endings.most_common())}\n")
    sys.stdout.write(f"in {lied} of those that were right members lied and were named\n")
    sys.stdout.write(f"{refused.total()} requests were refused: {dict(refused.most_common())}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
