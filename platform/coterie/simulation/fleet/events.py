"""A fleet of millions as events alone: who is ready, asked and in time, and what that loads a platform with.

Rounds are those of `coterie.simulation.fleet.cohort`; nothing is trained. Idle devices check in as the platform asks
them to: as often as in a small fleet, or so rarely that all together stay within what it answers a second
(`coterie.rounds.intervals`); a device also checks in when its conditions change, and often while it works.
Processor time is that of `coterie.offline.capacity`, measured at 10,000 devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from coterie.offline.capacity import ASSIGNMENT_S, CHECK_IN_S, MERGE_BYTES_S
from coterie.simulation.clock import DAY_S
from coterie.simulation.days import QUARTER_S
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.cohort import Bytes, Closed, Cohorts
from coterie.simulation.fleet.columns import Columns, Traits
from coterie.simulation.fleet.profile import USUAL, FleetProfile
from coterie.simulation.fleet.splits import Float64
from coterie.simulation.ledger import Ledger
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.rounds import MIN_PAUSE_S
from coterie.simulation.scenario import Speed
from coterie.twin.trace import Trace
from coterie_learning.plan import Document, Plan, plan_document

IDLE_CHECK_IN_S, BUSY_CHECK_IN_S = 15.0, 2.0
"""Seconds between two check-ins in a small fleet, as `coterie.rounds.intervals` has them."""


@dataclass(frozen=True, kw_only=True)
class EventsRun:
    """What is simulated."""

    plan: Plan
    devices: int
    fleet: FleetProfile | Trace = USUAL
    days: float = 7.0
    rounds: int = 1000
    """At most."""
    seed: int = 0
    samples: int = 100
    """Of each device."""
    batch_size: int = 32
    version_bytes: int = 1_000_000
    update_bytes: int = 250_000
    check_ins_per_second: float = 200.0
    """That the platform answers idle devices (COTERIE_CHECK_INS_PER_SECOND)."""


class Peak(msgspec.Struct, frozen=True):
    """Of one figure over the quarters of an hour: its mean, and the largest."""

    mean: float
    largest: float

    @classmethod
    def of(cls, values: Float64) -> "Peak":
        """Of at least one quarter."""
        return cls(float(np.mean(values)), float(np.max(values)))


class EventsOutcome(msgspec.Struct, frozen=True):
    """The same arguments give the same bytes."""

    plan: Document
    devices: int
    seed: int
    simulated_s: float
    rounds: int
    merged: int
    asked: int
    delivered: int
    lost: int
    duration_s: tuple[float, float, float]
    """Of a round: a tenth, half and nine tenths of rounds were quicker; zeros where there was none."""
    participants: int
    """Devices that were asked at least once."""
    most_asked: int
    """The largest share of one device: how often it was."""
    ready_share: Peak
    check_in_every_s: float
    """Of an idle device."""
    check_ins: Peak
    """A second: of idle devices, of those that work, and because conditions change."""
    changes: Peak
    """Of these, because conditions change."""
    down_bytes_s: Peak
    up_bytes_s: Peak
    web_cores: Peak
    """Cores that check-ins and assignments take."""
    merge_cores: Peak

    def json(self) -> bytes:
        """Indented, with a newline at its end."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def simulate_events(run: EventsRun, *, report: Report) -> EventsOutcome:
    """Hold rounds for some days. Raises DoesNotFit for plans without synchronous rounds, or NoHistory."""
    pace = run.plan.pace
    if not pace.holds_rounds() or pace.staleness_allowed() is not None or run.plan.selection.reads_history:
        raise DoesNotFit(detail="events alone are of synchronous rounds whose choice asks nothing of what was learned")
    if run.plan.topology.meeting_rules() is not None:
        raise DoesNotFit(detail=f"events alone have no meetings of devices, as topology {run.plan.topology.name} holds")
    traits = Traits.draw(run.fleet, run.plan.requirements, devices=run.devices, seed=run.seed)
    ledger, ends_s, now_s = Ledger(), run.days * DAY_S, 0.0
    sizes = Bytes(0, run.version_bytes, run.version_bytes, run.update_bytes)
    train_sizes = np.broadcast_to(np.int64(run.samples), (run.devices,))
    speed = run.fleet.speed if isinstance(run.fleet, FleetProfile) else Speed()
    columns = Columns.of(run.devices)
    cohorts = Cohorts(run.plan, speed, traits, columns, train_sizes, run.batch_size, run.seed, ledger)
    closed: list[Closed] = []
    times = np.zeros(run.devices, np.int64)
    while len(closed) < run.rounds and now_s < ends_s:
        number = len(closed) + 1
        one = cohorts.hold(number, begins_s=now_s, ends_s=ends_s, version=number, sizes=sizes)
        if one is None:
            break
        times[columns.asked_in == number] += 1
        closed.append(one)
        now_s = one.ended_s + max(pace.pause_after_s(), MIN_PAUSE_S)
        report(SimulationProgress(min(1.0, max(now_s / ends_s, len(closed) / run.rounds)), len(closed)))
    load = _Load(run, traits, closed, ends_s if len(closed) < run.rounds else min(ends_s, now_s))
    durations = [one.ended_s - one.opened_s for one in closed] or [0.0]
    low, middle, high = np.quantile(durations, (0.1, 0.5, 0.9))
    return EventsOutcome(
        plan=plan_document(run.plan),
        devices=run.devices,
        seed=run.seed,
        simulated_s=load.lasts_s,
        rounds=len(closed),
        merged=sum(one.is_merged for one in closed),
        asked=sum(one.invited for one in closed),
        delivered=sum(len(one.deliveries) for one in closed),
        lost=sum(one.lost for one in closed),
        duration_s=(float(low), float(middle), float(high)),
        participants=int((times > 0).sum()),
        most_asked=int(times.max()),
        ready_share=Peak.of(load.ready / run.devices),
        check_in_every_s=load.every_s,
        check_ins=Peak.of(load.check_ins),
        changes=Peak.of(load.changes),
        down_bytes_s=Peak.of(load.down),
        up_bytes_s=Peak.of(load.up),
        web_cores=Peak.of(load.check_ins * CHECK_IN_S + load.asked * ASSIGNMENT_S),
        merge_cores=Peak.of(load.up / MERGE_BYTES_S),
    )


class _Load:
    """What reaches the platform in each quarter of an hour, by second."""

    def __init__(self, run: EventsRun, traits: Traits, closed: Sequence[Closed], lasts_s: float) -> None:
        self.lasts_s = lasts_s
        quarters = max(1, int(np.ceil(lasts_s / QUARTER_S)))
        self.every_s = max(IDLE_CHECK_IN_S, run.devices / run.check_ins_per_second)
        self.ready, self.changes = np.zeros(quarters), np.zeros(quarters)
        self.asked, self.up = np.zeros(quarters), np.zeros(quarters)
        at_work = np.zeros(quarters)
        before = traits.availability.ready(0.0)
        for quarter in range(quarters):
            now = traits.availability.ready(quarter * QUARTER_S)
            self.ready[quarter], self.changes[quarter] = now.sum(), (now != before).sum() / QUARTER_S
            before = now
        for one in closed:
            first, last = (min(quarters - 1, int(at // QUARTER_S)) for at in (one.opened_s, one.ended_s))
            self.asked[first] += one.invited / QUARTER_S
            self.up[last] += len(one.deliveries) * run.update_bytes / QUARTER_S
            for quarter in range(first, last + 1):
                from_s, until_s = quarter * QUARTER_S, (quarter + 1) * QUARTER_S
                at_work[quarter] += one.invited * (min(until_s, one.ended_s) - max(from_s, one.opened_s)) / QUARTER_S
        self.down = self.asked * run.version_bytes
        often = np.maximum(BUSY_CHECK_IN_S, at_work / run.check_ins_per_second)
        self.check_ins = run.devices / self.every_s + at_work / often + self.changes
