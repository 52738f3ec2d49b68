"""Looks at the device's conditions every second and judges them; training sees the verdict between two steps."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from coterie_agent.conditions.local_hour import LocalHour
from coterie_agent.conditions.reader import ReadConditions
from coterie_agent.policy import PAUSED, judge, judge_data, judge_space
from coterie_agent.situation import Situation
from coterie_agent.store.choices import ChoicesStore
from coterie_agent.store.samples import SampleStore
from coterie_agent.store.work import WorkStore
from coterie_wire.conditions import Conditions, Requirements
from coterie_wire.errors import UNREADABLE
from coterie_wire.relaying import Shedding
from coterie_wire.structs import from_json


class _Asking(msgspec.Struct, frozen=True):
    """The part of a device plan that is wanted here; parsing all of it would load NumPy."""

    requirements: Requirements


PERIOD_S = 1.0
"""Half of the time in which training must have stopped after conditions were lost."""


@dataclass(kw_only=True)
class ProbeThread:
    """The thread that reads the probes."""

    situation: Situation
    read: ReadConditions
    owner: Requirements
    samples: SampleStore
    work: WorkStore
    choices: ChoicesStore
    free_bytes: Callable[[], int]
    """Where the store is."""
    look_at_load: Callable[[Conditions], Shedding | None] = lambda _conditions: None
    """Whom the device can keep as a supernode; None: as many as its owner lets it."""
    local_hour: Callable[[], int] = field(default_factory=LocalHour)
    period_s: float = PERIOD_S
    unix_time: Callable[[], float] = time.time

    def run(self) -> None:
        """Until the situation says stop."""
        while not self.situation.now.stopping:
            started = time.monotonic()
            self.look()
            self.situation.wait_for_stop(max(0.0, self.period_s - (time.monotonic() - started)))

    def look(self) -> None:
        """Read and judge once."""
        progress = self.situation.now.progress
        conditions = self.read(fresh=progress is not None and progress.stage == "training")
        choices = self.choices.load()
        blockers = (
            *((PAUSED,) if self.unix_time() < choices.paused_until else ()),
            *judge(self._asked(), self.owner, conditions, self.local_hour(), limits=choices.limits),
            *judge_data(
                widths=self.samples.widths(),
                usable=self.samples.usable(),
                model=self.situation.now.model,
            ),
            *judge_space(self.free_bytes()),
        )
        # First, so that no check-in says that the device is ready and still sheds its neighbours.
        self.situation.shed(self.look_at_load(conditions))
        self.situation.judge(conditions, blockers)

    def _asked(self) -> Requirements | None:
        """What the plan of the assignment in hand asks, else what the federation asks before it invites the device."""
        in_hand = self.work.current()
        if in_hand is not None:
            try:
                return from_json(in_hand.plan, _Asking).requirements
            except UNREADABLE:  # training it will say so, and give it back
                return None
        directive = self.situation.now.directive
        return directive.requirements if directive else None
