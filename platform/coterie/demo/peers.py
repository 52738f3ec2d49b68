"""Beside the rounds: two devices meet a digit that they have never seen, and one of them asks its peers for help.

Both see the same samples and learn by themselves under one plan; the owner of the other does not let it ask for help.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from coterie.demo.devices import ASKS_NO_PEERS, ASKS_PEERS, DemoDevice
from coterie.demo.digits import Samples, draw, of_digits
from coterie.demo.report import Newcomer, Recovery
from coterie.demo.screen import size
from coterie.demo.view import HelpRow, MemberRow
from coterie_learning.plan import Document

FAMILIAR = (0, 2, 4, 5)
"""Digits that the two see from the beginning."""
NEW = 6
HELPERS: Mapping[str, tuple[int, ...]] = {"neighbour": (*FAMILIAR, NEW), "stranger": (1, 3, NEW, 7, 8, 9)}
"""Devices that know the new digit, and what else they see."""
BATCH = 16
NEW_IN_A_BATCH = 5
WARM_UP_BATCHES = 64
LONGEST_WARM_UP_S = 60.0
LONGEST_BATCHES = 30
"""Batches with the new digit after which nobody waits any more."""
BATCH_EVERY_S = 1.5
TOLERANCE = 0.05
"""Accuracy by which a device that has recovered may lie below what it had before the new digit came."""
PEERS = "peers"
"""Tag of the devices, and name of their pair and of their federation."""
PLAN: Document = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.005},
    "pace": {"kind": "alone"},
    "help": {
        "kind": "cartel",
        "detector": {"kind": "window", "limit": 0.25},
        "match_s": 20.0,
        "deliver_s": 20.0,
        "judge_s": 30.0,
    },
}


class Member(Protocol):
    """What is needed of a device here."""

    @property
    def name(self) -> str: ...

    def batches_judged(self) -> int: ...

    def meet(self, samples: Samples) -> None: ...

    def accuracy(self, samples: Samples) -> float: ...


class PeerDevices(NamedTuple):
    """Who plays."""

    helped: DemoDevice
    alone: DemoDevice
    helpers: Sequence[DemoDevice]

    @property
    def everybody(self) -> Sequence[DemoDevice]:
        """All of them."""
        return (*self.helpers, self.helped, self.alone)


def make_peer_devices(
    samples: Samples, *, home: Path, environment: Mapping[str, str], rng: np.random.Generator
) -> PeerDevices:
    """Devices that see what is drawn from `samples`; the two that are compared see the same."""

    def device(name: str, sees: Samples, settings: str = ASKS_PEERS) -> DemoDevice:
        return DemoDevice(name=name, home=home / name, samples=sees, environment=environment, settings=settings)

    helpers = [device(name, _of(samples, digits, rng)) for name, digits in HELPERS.items()]
    familiar = _of(samples, FAMILIAR, rng)
    return PeerDevices(device("newcomer", familiar), device("loner", familiar, ASKS_NO_PEERS), helpers)


def make_stream(samples: Samples, rng: np.random.Generator) -> Sequence[Samples]:
    """The batches with the new digit in them."""
    labels = (
        np.append(rng.choice(FAMILIAR, BATCH - NEW_IN_A_BATCH), [NEW] * NEW_IN_A_BATCH) for _ in range(LONGEST_BATCHES)
    )
    return [draw(samples, rng.permutation(batch), rng) for batch in labels]


def _of(samples: Samples, digits: Sequence[int], rng: np.random.Generator) -> Samples:
    return draw(samples, rng.choice(digits, WARM_UP_BATCHES * BATCH), rng)


@dataclass
class _Learner:
    """One of the two, and how it gets on with the new digit."""

    member: Member
    before: float = 0.0
    """Accuracy on the familiar digits."""
    accuracy: float | None = None
    """On all digits that it meets now."""
    recovery: Recovery | None = None


@dataclass(kw_only=True)
class Peers:
    """What these devices do beside the rounds, one step at a time."""

    helped: Member
    alone: Member
    helpers: Sequence[Member]
    stream: Sequence[Samples]
    held_out: Samples
    look: Callable[[], Sequence[HelpRow]]
    """The peers' help requests, oldest first."""
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _learners: tuple[_Learner, _Learner] = field(init=False)
    _given: int = 0
    _began_s: float | None = None
    _due_s: float = 0.0
    _too_late_s: float | None = None
    """When nobody waits any more for the story to begin."""
    _earlier: frozenset[str] = frozenset()
    """Help requests from before the story."""
    _request: HelpRow | None = None
    _shown: int = 0

    def __post_init__(self) -> None:
        self._learners = (_Learner(self.helped), _Learner(self.alone))

    @property
    def is_over(self) -> bool:
        """Whether both have recovered, or nobody waits for it any more, and the request has ended."""
        if self._began_s is None:
            return self._too_late_s is not None and self.clock() >= self._too_late_s
        return not self._goes_on and not (self._request and self._request.is_live)

    @property
    def _goes_on(self) -> bool:
        return self._given < len(self.stream) and any(learner.recovery is None for learner in self._learners)

    def step(self) -> None:
        """Begin once all have learned what they began with; then tell what happens, and give batches when due."""
        if self._began_s is None and not self._begin():
            return
        assert self._began_s is not None
        self._follow_request()
        if self.clock() < self._due_s or not self._goes_on:
            return
        met = of_digits(self.held_out, (*FAMILIAR, NEW))
        for learner in self._learners:
            learner.accuracy = learner.member.accuracy(met)
            if learner.recovery is None and learner.accuracy >= learner.before - TOLERANCE:
                learner.recovery = Recovery(batches=self._given, seconds=self.clock() - self._began_s)
                self.say(f"{learner.member.name} is as good as before after {learner.recovery.words}")
        if self._goes_on:
            for learner in self._learners:
                learner.member.meet(self.stream[self._given])
            self._given += 1
            self._due_s = self.clock() + BATCH_EVERY_S

    def _begin(self) -> bool:
        now_s = self.clock()
        if self._too_late_s is None:
            self._too_late_s = now_s + LONGEST_WARM_UP_S
        members = (self.helped, self.alone, *self.helpers)
        if any(member.batches_judged() < WARM_UP_BATCHES for member in members):
            return False
        earlier = self.look()
        if any(request.is_live for request in earlier):
            return False
        self._earlier = frozenset(request.id for request in earlier)
        familiar = of_digits(self.held_out, FAMILIAR)
        for learner in self._learners:
            learner.before = learner.member.accuracy(familiar)
        self.say(f"{self.helped.name} and {self.alone.name} meet a {NEW}, which neither has ever seen")
        self._began_s = self._due_s = self.clock()
        return True

    def rows(self) -> Sequence[MemberRow]:
        """For the screen."""
        helped, alone = self._learners
        asks = "learns by itself" if self._request is None else f"asked for help: {self._request.state}"
        helps = {row.helper_name for row in self._request.transfers} if self._request else set()
        return [
            MemberRow(helped.member.name, _sees(self._given), helped.accuracy, asks),
            MemberRow(alone.member.name, _sees(self._given), alone.accuracy, "learns by itself, and asks nobody"),
            *(
                MemberRow(
                    member.name, _named(HELPERS[member.name]), None, "helps" if member.name in helps else "learns"
                )
                for member in self.helpers
            ),
        ]

    def outcome(self) -> Newcomer:
        """For the report."""
        helped, alone = self._learners
        kept = None if self._request is None else self._request.kept
        return Newcomer(
            digit=NEW,
            helped=helped.recovery,
            alone=alone.recovery,
            helper=None if kept is None else kept.helper_name,
            portion_bytes=None if kept is None else kept.size_bytes,
            waited_batches=self._given,
        )

    def _follow_request(self) -> None:
        self._request = next((row for row in self.look() if row.id not in self._earlier), None)
        sentences = [] if self._request is None else list(sentences_of(self._request))
        for sentence in sentences[self._shown :]:
            self.say(sentence)
        self._shown = max(self._shown, len(sentences))


def sentences_of(request: HelpRow) -> Iterator[str]:
    """What has become of a help request so far: as it goes on, sentences are added and none changes."""
    digits = _named(request.classes)
    yield f"{request.device_name} fails on {digits} and asks for help"
    for transfer in request.transfers:
        helper = transfer.helper_name
        yield f"{helper} has the most similar data of those that know {digits}, and is asked"
        if transfer.delivered_at is not None:
            yield f"{helper} has sent a portion of its model: {size(transfer.size_bytes)}"
        if transfer.accuracy_before is not None and transfer.accuracy_after is not None:
            judged = f"{transfer.accuracy_before:.0%} before, {transfer.accuracy_after:.0%} with it"
            verdict = "keeps" if transfer.state == "kept" else "undoes"
            yield f"{request.device_name} has merged it and {verdict} it; right on its newest samples: {judged}"
        elif transfer.has_failed:
            yield f"{helper} did not help: {transfer.reason_sentence}"
    if request.state in ("unmatched", "abandoned"):
        yield f"{request.device_name} was not helped: {request.reason_sentence}"


def _sees(given: int) -> str:
    return _named((*FAMILIAR, NEW) if given else FAMILIAR)


def _named(digits: Sequence[int]) -> str:
    return ", ".join(map(str, digits))
