"""The common inputs of a sweep's runs, as one file that is sent to the runner; and how a run is performed.

The file is a tensor file (`coterie_wire.tensors`): graphs, parameters, samples, and JSON of the rest. Reading it runs
no code.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, cast

import msgspec
import numpy as np

from coterie.child.job import Progress as Told
from coterie.child.job import ReportProgress
from coterie.cloud.figures import SimulationFigures, drawn
from coterie.cloud.fleet_run_job import DESCRIPTION, CannotRun, FleetRunArguments, FleetRunResult, RunRequest
from coterie.cloud.simulation_job import LEFT_S
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import DamagedSimulation, DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun, GivenCloud
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.run_options import DRIFTS, SPLITS
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.on_device import Graphs
from coterie.simulation.progress import SimulationProgress, unreported
from coterie.twin.trace import Trace
from coterie_learning.plan import Document, parse_plan, plan_document
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Array, Float32, encode_tensors, read_header, view_tensors

LABELS, OWNERS, COMING, TRAIN_STEP, PREDICT = "labels", "owners", "coming", "train_step", "predict"
INPUT, PARAMETER = "input/", "parameter/"
CLOUD, CLOUD_LABELS, CLOUD_INPUT, CLOUD_PARAMETERS = "cloud", "cloud_labels", "cloud_input/", "cloud_parameters"


class _Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Inputs other than tensors."""

    spec: ModelSpec
    split: Document
    drift: Document | None
    devices: int | None
    each: int | None
    held_out_share: float
    days: float
    executor: Literal["auto", "exact", "batched"]
    names: tuple[str, str]
    profile: FleetProfile | None
    trace: Trace | None


def wanted_of(run: FleetRun) -> RunRequest:
    """The inputs in which `run` differs from others of its fleet."""
    return RunRequest(plan_document(run.plan), run.seed, run.rounds, run.evaluate_every, run.ends_s)


def encode_fleet(run: FleetRun) -> bytes:
    """Encode `run` without `wanted_of` and its workers; equal fleets give equal bytes."""
    data, columns = run.samples
    told = _Told(
        spec=run.model.spec,
        split=cast(Document, msgspec.to_builtins(run.split)),
        drift=None if run.drift is None else cast(Document, msgspec.to_builtins(run.drift)),
        devices=run.devices,
        each=run.each,
        held_out_share=run.held_out_share,
        days=run.days,
        executor=run.executor,
        names=run.names,
        profile=run.fleet if isinstance(run.fleet, FleetProfile) else None,
        trace=run.fleet if isinstance(run.fleet, Trace) else None,
    )
    tensors: dict[str, Array] = {
        DESCRIPTION: _bytes(msgspec.json.encode(told)),
        TRAIN_STEP: _bytes(run.model.train_step),
        PREDICT: _bytes(run.model.predict_graph),
        LABELS: data.classes,
        **{f"{INPUT}{name}": array for name, array in data.inputs.items()},
        **{f"{PARAMETER}{name}": array for name, array in run.parameters.items()},
    }
    for name, wanted in ((OWNERS, run.split.column()), (COMING, run.drift and run.drift.column())):
        column = columns.get(wanted or "")
        if column is not None:
            # Numbered in the order of the values, which splits and drifts preserve.
            tensors[name] = np.unique(column, return_inverse=True)[1].astype(np.int64)
    if run.cloud is not None:
        tensors |= {CLOUD: _bytes(run.cloud.program), CLOUD_LABELS: run.cloud.data.classes}
        tensors |= {f"{CLOUD_INPUT}{name}": array for name, array in run.cloud.data.inputs.items()}
        if run.cloud.parameters is not None:
            tensors[CLOUD_PARAMETERS] = _bytes(run.cloud.parameters)
    return encode_tensors(tensors)


def decode_fleet(content: bytes, wanted: RunRequest) -> FleetRun:
    """Decode the run `wanted` of a fleet. Raises DoesNotFit."""
    try:
        header = read_header(content)
        found = view_tensors(content, header, expected=tuple(header.specs.values()))
        told = from_json(found[DESCRIPTION].tobytes(), _Told)
        spec, split = told.spec, SPLITS.parse(told.split)
        drift = None if told.drift is None else DRIFTS.parse(told.drift)
        fleet = told.profile or told.trace
        if fleet is None:
            raise DoesNotFit(detail="the file does not tell how its devices are")
        graphs = Graphs.of(spec, train_step=found[TRAIN_STEP].tobytes(), predict=found[PREDICT].tobytes())
        inputs = {tensor.name: found[f"{INPUT}{tensor.name}"] for tensor in spec.inputs}
        parameters = {tensor.name: cast(Float32, found[f"{PARAMETER}{tensor.name}"]) for tensor in spec.version}
        labels = cast(Int64, found[LABELS])
        cloud = _cloud(found, spec)
    except (WireError, *UNREADABLE, KeyError) as error:
        raise DoesNotFit(detail=f"the file of the fleet cannot be read: {error}") from error
    shapes = {tensor.name: (len(labels), *tensor.shape) for tensor in spec.inputs}
    if {name: array.shape for name, array in inputs.items()} != shapes or not _are_classes(labels, spec.classes):
        raise DoesNotFit(detail="the file of the fleet has other samples than its model takes")
    told_by = {split.column(): OWNERS, **({} if drift is None else {drift.column(): COMING})}
    columns = {column: found[name] for column, name in told_by.items() if column is not None and name in found}
    return FleetRun(
        plan=parse_plan(wanted.plan),
        model=graphs,
        parameters=parameters,
        samples=FleetSamples(Dataset(inputs, labels), columns),
        split=split,
        devices=told.devices,
        each=told.each,
        held_out_share=told.held_out_share,
        rounds=wanted.rounds,
        days=told.days,
        ends_s=wanted.ends_s,
        seed=wanted.seed,
        executor=told.executor,
        evaluate_every=wanted.evaluate_every,
        fleet=fleet,
        drift=drift,
        cloud=cloud,
        names=told.names,
    )


def _cloud(found: Mapping[str, Array], spec: ModelSpec) -> GivenCloud | None:
    if CLOUD not in found:
        return None
    # Copies, since PyTorch requires writable arrays.
    inputs = {tensor.name: found[f"{CLOUD_INPUT}{tensor.name}"].copy() for tensor in spec.inputs}
    labels = cast(Int64, found[CLOUD_LABELS].copy())
    if any(len(array) != len(labels) for array in inputs.values()) or not _are_classes(labels, spec.classes):
        raise DoesNotFit(detail="the file of the fleet has other cloud data than its model takes")
    parameters = found[CLOUD_PARAMETERS].tobytes() if CLOUD_PARAMETERS in found else None
    return GivenCloud(found[CLOUD].tobytes(), Dataset(inputs, labels), parameters)


def run_stored(arguments: FleetRunArguments, report: ReportProgress) -> FleetRunResult:
    """The work of job `fleet_run`; resumes in the same directory. Raises CannotRun."""
    rounds, began_s = arguments.wanted.rounds, time.monotonic()
    began_at: float | None = None

    def record(progress: SimulationProgress) -> None:
        nonlocal began_at, began_s
        if began_at is None:  # progress of an earlier attempt took no time of this one
            began_at, began_s = progress.share, time.monotonic()
        done, took_s = progress.share - began_at, time.monotonic() - began_s
        values = {LEFT_S: took_s * (1 - progress.share) / done} if done > 0 else {}
        report(Told("simulated rounds", min(rounds, round(progress.share * rounds)), rounds, values))

    try:
        run = decode_fleet(Path(arguments.fleet).read_bytes(), arguments.wanted)
        outcome = simulate_kept(run, report=record, keep=Path(arguments.keep))
    except CoterieError as error:
        raise CannotRun(detail=str(error)) from error
    except WireError as error:
        raise CannotRun(detail=f"{error.detail}.") from error
    return FleetRunResult(msgspec.json.encode(outcome).decode(), figures_of(outcome))


def figures_of(outcome: FleetOutcome) -> SimulationFigures:
    """The figures for a list."""
    course = outcome.accuracy_by_tick if outcome.drift else [one.accuracy for one in outcome.rounds]
    return SimulationFigures(
        accuracy=outcome.accuracy,
        accuracies=drawn([one for one in course if one is not None]),
        device_accuracy_median=outcome.device_accuracy.median,
        device_accuracy_worst_decile=outcome.device_accuracy.worst_decile,
        bytes_per_device=outcome.bytes_per_device,
        joules_per_device=outcome.joules_per_device,
    )


def run_shared(fleet: bytes, wanted: bytes) -> bytes:
    """The outcome, as JSON, of a run given as JSON. Raises what `simulate_fleet` raises."""
    run = decode_fleet(fleet, from_json(wanted, RunRequest))
    return msgspec.json.encode(simulate_fleet(run, report=unreported))


def simulate_kept(run: FleetRun, *, report: Callable[[SimulationProgress], None], keep: Path) -> FleetOutcome:
    """`simulate_fleet`; restarts where the checkpoint is not writable or damaged, e.g. after a power loss."""
    if run.is_on_a_clock:
        return simulate_fleet(run, report=report)
    try:
        return simulate_fleet(run, report=report, keep=keep)
    except DamagedSimulation:
        shutil.rmtree(keep)
        return simulate_fleet(run, report=report, keep=keep)


def _are_classes(labels: Int64, classes: int) -> bool:
    return len(labels) > 0 and int(labels.min()) >= 0 and int(labels.max()) < classes


def _bytes(content: bytes) -> Array:
    return np.frombuffer(content, np.uint8)
