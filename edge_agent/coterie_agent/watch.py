"""Reads and judges the device's conditions every second; training checks the verdict between two steps."""

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


class _PlanRequirements(msgspec.Struct, frozen=True):
    """The part of a device plan that is needed here; parsing all of it would load NumPy."""

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
    """Free bytes on the file system of the store."""
    check_load: Callable[[Conditions], Shedding | None] = lambda _conditions: None
    """Which members the device keeps as a supernode under its load; None: as many as its owner allows."""
    local_hour: Callable[[], int] = field(default_factory=LocalHour)
    period_s: float = PERIOD_S
    unix_time: Callable[[], float] = time.time

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not self.situation.now.stopping:
            started = time.monotonic()
            self.probe()
            self.situation.wait_for_stop(max(0.0, self.period_s - (time.monotonic() - started)))

    def probe(self) -> None:
        """Read and judge once."""
        progress = self.situation.now.progress
        conditions = self.read(fresh=progress is not None and progress.stage == "training")
        choices = self.choices.load()
        blockers = (
            *((PAUSED,) if self.unix_time() < choices.paused_until else ()),
            *judge(self._requirements(), self.owner, conditions, self.local_hour(), limits=choices.limits),
            *judge_data(
                widths=self.samples.widths(),
                usable=self.samples.usable(),
                model=self.situation.now.model,
            ),
            *judge_space(self.free_bytes()),
        )
        # First, so that no check-in reports the device as ready while it still sheds members.
        self.situation.set_shedding(self.check_load(conditions))
        self.situation.set_conditions(conditions, blockers)

    def _requirements(self) -> Requirements | None:
        """The requirements of the current assignment's plan, else those that the federation states before inviting."""
        in_hand = self.work.current()
        if in_hand is not None:
            try:
                return from_json(in_hand.plan, _PlanRequirements).requirements
            except UNREADABLE:  # training reports this, and gives the assignment back
                return None
        directive = self.situation.now.directive
        return directive.requirements if directive else None
