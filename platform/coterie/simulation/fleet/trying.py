"""The work of job `simulation`: tries a federation's plan on a fleet, with several random seeds.

Accuracy, bytes and energy come from the rounds of each draw. Where the fleet's own history is known, durations and
dropouts come from replayed rounds, which vary like the real fleet and not like a model of it.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import msgspec
import numpy as np

from coterie.child.job import Progress as Told
from coterie.child.job import ReportProgress
from coterie.cloud.simulation_job import (
    DRAWS,
    LEFT_S,
    SAVED,
    CannotSimulate,
    ExpectedMoment,
    ExpectedRound,
    Range,
    SimulationArguments,
    SimulationResult,
)
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset, read_model_dataset
from coterie.evaluation.scoring import predict_logits, score
from coterie.simulation.clock import DAY_S
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.checkpoint import STATE
from coterie.simulation.fleet.fleet_run import FleetRun, GivenCloud
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.profile import read_profile
from coterie.simulation.fleet.run_options import parse_drift, parse_split
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.shared import simulate_kept
from coterie.simulation.fleet.splits.by import By
from coterie.simulation.learners.pair import why_not_simulated
from coterie.simulation.on_device import Graphs
from coterie.simulation.progress import SimulationProgress
from coterie.simulation.scenario import read_scenario
from coterie.twin.replay import HeldRound, Past, Ready, Rounds
from coterie.twin.trace import Trace
from coterie_learning.contribution import sent_bytes
from coterie_learning.plan import Plan, parse_plan
from coterie_learning.random import derive_seed
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Tensors, decode_tensors

USER = "user"
MOMENTS = 100
"""Times of a simulation that are told, at most."""


def try_stored(arguments: SimulationArguments, report: ReportProgress) -> SimulationResult:
    """Perform the job, resuming in the same directory. Raises CannotSimulate."""
    try:
        return _tried(arguments, report)
    except CannotSimulate:
        raise
    except CoterieError as error:
        raise CannotSimulate(detail=str(error)) from error
    except WireError as error:
        raise CannotSimulate(detail=f"{error.detail}.") from error


def _tried(arguments: SimulationArguments, report: ReportProgress) -> SimulationResult:
    problem = why_not_simulated(arguments.model)
    if problem is not None:
        raise DoesNotFit(detail=problem)
    run, keep = _run(arguments), Path(arguments.keep)
    counted = _Counted(arguments.rounds, report)
    outcomes = []
    for draw in range(DRAWS):
        told = counted.of(draw, keep / f"draw-{draw}" / STATE)
        outcomes.append(_drawn(replace(run, seed=derive_seed(arguments.seed, "draw", draw)), draw, keep, told))
    begins_with = _accuracy(run)
    return _summed(run, outcomes, begins_with, _takes(run, outcomes, arguments))


def _run(arguments: SimulationArguments) -> FleetRun:
    spec = arguments.model
    graphs = Graphs.of(
        spec, train_step=Path(arguments.train_step).read_bytes(), predict=Path(arguments.predict).read_bytes()
    )
    trace, profile = arguments.trace, arguments.profile
    fleet = read_profile(profile) if trace is None else from_json(Path(trace).read_bytes(), Trace)
    return FleetRun(
        plan=parse_plan(arguments.plan),
        model=graphs,
        parameters=_parameters(Path(arguments.parameters), spec),
        samples=_samples(arguments),
        split=parse_split(arguments.split) if arguments.scenario is None else By(column_name=USER),
        devices=arguments.devices,
        each=arguments.each if arguments.scenario is None else None,
        rounds=arguments.rounds,
        days=arguments.days,
        fleet=fleet,
        drift=None if arguments.drift is None else parse_drift(arguments.drift),
        cloud=_cloud(arguments),
    )


def _cloud(arguments: SimulationArguments) -> GivenCloud | None:
    program, parameters, data = arguments.cloud, arguments.cloud_parameters, arguments.cloud_data
    if program is None or parameters is None or data is None:
        return None
    samples = read_model_dataset(Path(data), arguments.model)
    return GivenCloud(Path(program).read_bytes(), samples, Path(parameters).read_bytes())


def _parameters(path: Path, spec: ModelSpec) -> Tensors:
    found = decode_tensors(path.read_bytes(), expected=spec.version)
    return {name: array.astype(np.float32, copy=False) for name, array in found.items()}


def _samples(arguments: SimulationArguments) -> FleetSamples:
    spec = arguments.model
    if arguments.scenario is not None:
        return _of_scenario(arguments.scenario, spec, arguments.devices, arguments.seed)
    assert arguments.dataset is not None, "one of the two is given"
    return FleetSamples(read_model_dataset(Path(arguments.dataset), spec), {})


def _of_scenario(name: str, spec: ModelSpec, devices: int, seed: int) -> FleetSamples:
    """What the devices of a scenario keep first; a sample is given the model's shape, if it has as many numbers."""
    scenario = read_scenario(name)
    drawn = scenario.stream.draw(devices=devices, seed=derive_seed(seed, "stream"))
    here, there = spec.inputs, drawn.task.inputs
    if [(one.dtype, prod(one.shape)) for one in here] != [(one.dtype, prod(one.shape)) for one in there]:
        raise DoesNotFit(detail=f"the model takes {_shown(here)}, samples of {name} are {_shown(there)}")
    if drawn.task.classes != spec.classes:
        raise DoesNotFit(detail=f"the model tells {spec.classes} classes apart, {name} has {drawn.task.classes}")
    kept = [batch for batches in drawn.batches for batch in batches[: scenario.window]]
    owners = [device for device, batches in enumerate(drawn.batches) for _ in batches[: scenario.window]]
    inputs = {
        mine.name: np.concatenate([batch.inputs[theirs.name] for batch in kept]).reshape(-1, *mine.shape)
        for mine, theirs in zip(here, there, strict=True)
    }
    users = np.repeat(owners, [len(batch.labels) for batch in kept])
    return FleetSamples(Dataset(inputs, np.concatenate([batch.classes for batch in kept])), {USER: users})


def _drawn(run: FleetRun, draw: int, keep: Path, told: Callable[[SimulationProgress], None]) -> FleetOutcome:
    """One draw, or what it found before."""
    found, directory = keep / f"draw-{draw}.json", keep / f"draw-{draw}"
    if found.exists():
        with suppress(*UNREADABLE):  # as another release wrote it
            return from_json(found.read_bytes(), FleetOutcome)
    outcome = simulate_kept(run, report=told, keep=directory)
    partial = found.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(outcome))
    partial.replace(found)
    if directory.exists():
        shutil.rmtree(directory)
    return outcome


class _Counted:
    """Tells of all draws as one, and how long they will take."""

    def __init__(self, rounds: int, report: ReportProgress) -> None:
        self._rounds, self._report = rounds, report
        self._began_s, self._began_at = time.monotonic(), 0.0
        self._is_new = True

    def of(self, draw: int, state: Path) -> Callable[[SimulationProgress], None]:
        """What one draw reports to; `state` is where it saves."""
        before = _written(state)

        def told(progress: SimulationProgress) -> None:
            share = (draw + progress.share) / DRAWS
            if self._is_new:
                self._began_s, self._began_at, self._is_new = time.monotonic(), share, False
            done, took_s = share - self._began_at, time.monotonic() - self._began_s
            values = {LEFT_S: took_s * (1 - share) / done} if done > 0 else {}
            if draw > 0 or _written(state) != before:
                values[SAVED] = 1.0
            total = DRAWS * self._rounds
            self._report(Told("simulated rounds", min(total, round(share * total)), total, values))

        return told


def _written(state: Path) -> int:
    """When it was, in nanoseconds of its file system; 0: it was not."""
    return state.stat().st_mtime_ns if state.exists() else 0


class _Takes(NamedTuple):
    """What rounds take, one number a round."""

    duration_s: Sequence[float]
    lost: Sequence[float]
    up_bytes: Sequence[float]


def _takes(run: FleetRun, outcomes: Sequence[FleetOutcome], arguments: SimulationArguments) -> _Takes:
    """Raises DoesNotFit where the plan holds rounds, and none was."""
    update = sent_bytes(run.plan, run.model.spec).usual
    trace = _replayable(run)
    if trace is not None:
        replayed = list(_replayed(run.plan, trace, update, arguments))
        found = _Takes(
            [one.lasted_s for one in replayed], [one.lost for one in replayed], [one.up_bytes for one in replayed]
        )
    else:
        every = [one for outcome in outcomes for one in outcome.rounds]
        found = _Takes(
            [one.ended_s - one.opened_s for one in every],
            [one.lost for one in every],
            [one.delivered * update for one in every],
        )
    if run.plan.pace.holds_rounds() and not (found.duration_s and any(outcome.rounds for outcome in outcomes)):
        needed = run.plan.pace.devices_needed()
        raise DoesNotFit(
            detail=f"no round would open in {arguments.days:g} days: the fleet never has {needed} devices ready at once"
        )
    return found


def _replayable(run: FleetRun) -> Trace | None:
    """What devices did, with which rounds are held again to tell what they take; asynchronous ones are not."""
    is_synchronous = run.plan.pace.holds_rounds() and run.plan.pace.staleness_allowed() is None
    return run.fleet if isinstance(run.fleet, Trace) and is_synchronous else None


def _replayed(plan: Plan, trace: Trace, update_bytes: int, arguments: SimulationArguments) -> Iterator[HeldRound]:
    past, ready = Past.of(trace), Ready(trace)
    for draw in range(DRAWS):
        rounds = Rounds(plan, past, ready, update_bytes, derive_seed(arguments.seed, "replayed", draw))
        yield from rounds.several(rounds=arguments.rounds, until_s=trace.lasts_s)


def _summed(run: FleetRun, outcomes: Sequence[FleetOutcome], begins_with: float, takes: _Takes) -> SimulationResult:
    held = [one for outcome in outcomes for one in outcome.rounds]
    return SimulationResult(
        rounds=tuple(_expected(outcomes, begins_with)),
        duration_s=_pooled(takes.duration_s),
        lost=_pooled(takes.lost),
        up_bytes=_pooled(takes.up_bytes),
        merged_share=sum(one.outcome == "merged" for one in held) / len(held) if held else None,
        accuracy=_over_draws([one.accuracy for one in outcomes]),
        begins_with=begins_with,
        device_accuracy_median=_over_draws([one.device_accuracy.median for one in outcomes]),
        device_accuracy_worst_decile=_over_draws([one.device_accuracy.worst_decile for one in outcomes]),
        bytes_per_device=_over_draws([one.bytes_per_device for one in outcomes]),
        joules_per_device=_over_draws([one.joules_per_device for one in outcomes]),
        participants=_over_draws([one.participants for one in outcomes]),
        simulated_s=median(one.simulated_s for one in outcomes),
        devices=outcomes[0].devices,
        samples=round(median(one.samples for one in outcomes)),
        held_out=outcomes[0].held_out,
        draws=len(outcomes),
        durations="simulated" if _replayable(run) is None else "replayed",
        executor_reason=outcomes[0].executor_reason,
        moments=tuple(_moments(outcomes, run.days * DAY_S)),
    )


def _moments(outcomes: Sequence[FleetOutcome], lasts_s: float) -> Iterator[ExpectedMoment]:
    """As many as samples come at times in every draw, but not more than are drawn."""
    ticks = [len(outcome.accuracy_by_tick) for outcome in outcomes if outcome.tick_s is not None]
    spans = min(*ticks, MOMENTS) if ticks else 0
    means = [_by_span(outcome.accuracy_by_tick, spans) for outcome in outcomes]
    for span in range(spans):
        met = [one[span] for one in means if span in one]
        if met:
            yield ExpectedMoment(lasts_s * (span + 1) / spans, _over_draws(met))


def _by_span(accuracies: Sequence[float | None], spans: int) -> Mapping[int, float]:
    """The mean in each of so many spans of the time that has one."""
    found: dict[int, list[float]] = {}
    for tick, accuracy in enumerate(accuracies):
        if accuracy is not None:
            found.setdefault(tick * spans // len(accuracies), []).append(accuracy)
    return {span: fmean(those) for span, those in found.items()}


def _expected(outcomes: Sequence[FleetOutcome], begins_with: float) -> Iterator[ExpectedRound]:
    """A round without a new version leaves the accuracy as it was."""
    now = [begins_with] * len(outcomes)
    for place in range(max(len(outcome.rounds) for outcome in outcomes)):
        those = [draw for draw, outcome in enumerate(outcomes) if place < len(outcome.rounds)]
        for draw in those:
            accuracy = outcomes[draw].rounds[place].accuracy
            now[draw] = now[draw] if accuracy is None else accuracy
        ended_s = median(outcomes[draw].rounds[place].ended_s for draw in those)
        yield ExpectedRound(place + 1, len(those), ended_s, _over_draws([now[draw] for draw in those]))


def _over_draws(values: Sequence[float]) -> Range:
    """One value a draw: from the least to the greatest."""
    return Range(float(min(values)), float(median(values)), float(max(values)))


def _pooled(values: Sequence[float]) -> Range | None:
    """One value a round, of all draws."""
    if not values:
        return None
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
    return Range(float(low), float(middle), float(high))


def _accuracy(run: FleetRun) -> float:
    output = predict_logits(run.model.predict, run.parameters, run.samples.data)
    return score(output, run.samples.data.labels, task=run.model.spec.task).accuracy or 0.0


def _shown(inputs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{one.name} {one.dtype} {list(one.shape)}" for one in inputs)
