"""A fleet's simulation from what a command or a program asks for: files, names and numbers."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, get_args

import msgspec

from coterie.simulation.contenders import Contender
from coterie.simulation.errors import DoesNotFit, MalformedFile
from coterie.simulation.fleet import drifts, splits
from coterie.simulation.fleet.drifts import Drift
from coterie.simulation.fleet.fleet_run import FleetRun, GivenCloud
from coterie.simulation.fleet.profile import read_profile
from coterie.simulation.fleet.refusals import check_plan
from coterie.simulation.fleet.samples import read_samples
from coterie.simulation.fleet.splits import Split
from coterie.simulation.fleet.work import Executor
from coterie.simulation.learners.pair import compiled_pair
from coterie.simulation.on_device import Graphs
from coterie_learning.kinds import Kind, Registry
from coterie_learning.plan import Plan
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json

SPLITS = Registry("split", splits, Split)
DRIFTS = Registry("data drift", drifts, Drift)
BATCH_SIZE = 32
KindT = TypeVar("KindT", bound=Kind)


class Option(NamedTuple):
    """A field of `RunOptions` as commands take it."""

    field: str
    metavar: str
    help: str
    is_file: bool = False

    @property
    def flag(self) -> str:
        """On a command line."""
        return f"--{self.field.replace('_', '-')}"


BEYOND_ROUNDS = (
    Option("drift", "D", "samples come over the days: steady, introduced:SHARE or by:COLUMN"),
    Option("cloud", "CLOUD.pt2", "a cloud model, which teaches and learns", is_file=True),
    Option("cloud_data", "C.npz", "the initial cloud data, with --cloud", is_file=True),
)
"""What makes devices do more than rounds on samples that they have, wherever a plan is simulated."""


LEAST: Mapping[str, float] = {
    "devices": 1,
    "each": 1,
    "rounds": 1,
    "days": 0.01,
    "seed": 0,
    "workers": 1,
    "batch_size": 1,
    "evaluate_every": 1,
}
"""Of numbers in `RunOptions`, by field."""


class RunOptions(NamedTuple):
    """What is asked for, beside the plan, the model and the samples."""

    split: str
    """A kind, and after a colon its hyperparameter, e.g. ``dirichlet:0.3``."""
    devices: int | None = None
    each: int | None = None
    rounds: int = 100
    days: float = 30.0
    seed: int = 0
    executor: Executor | Literal["auto"] = "auto"
    workers: int | None = None
    """Processes that train; None: one a core."""
    batch_size: int = BATCH_SIZE
    held_out_share: float = 0.2
    evaluate_every: int = 1
    fleet: str | None = None
    """A shipped profile's name, or a file."""
    drift: str | None = None
    """A kind, and after a colon its hyperparameter, e.g. ``introduced:0.3``; None: nothing comes over time."""
    cloud: Path | None = None
    """A cloud model, as ``torch.export.save`` writes it, with samples in `cloud_data`."""
    cloud_data: Path | None = None


def fleet_run(contender: Contender, pair: Path, data: Path, asked: RunOptions) -> FleetRun:
    """Raises DoesNotFit, MalformedFile or MissingPackage, and what loading and compiling the model raise."""
    if not isinstance(contender, Plan):
        raise DoesNotFit(detail="a fleet runs the rounds of a plan, and this is a baseline")
    _check(asked)
    drifts, has_cloud = asked.drift is not None, asked.cloud is not None
    check_plan(contender, drifts=drifts, has_cloud=has_cloud, executor=asked.executor)
    split, fleet = parse_split(asked.split), read_profile(asked.fleet)
    drift = None if asked.drift is None else parse_drift(asked.drift)
    compiled = compiled_pair(pair, asked.batch_size)
    columns = [one for one in (split.column(), drift.column() if drift else None) if one is not None]
    return FleetRun(
        plan=contender,
        model=Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict),
        parameters=compiled.parameters,
        samples=read_samples(data, compiled.spec, beside=columns),
        split=split,
        devices=asked.devices,
        each=asked.each,
        held_out_share=asked.held_out_share,
        rounds=asked.rounds,
        days=asked.days,
        seed=asked.seed,
        executor=asked.executor,
        workers=_cores() if asked.workers is None else asked.workers,
        evaluate_every=asked.evaluate_every,
        fleet=fleet,
        drift=drift,
        cloud=_cloud(asked, compiled.spec),
        names=(pair.name, data.name),
    )


def _check(asked: RunOptions) -> None:
    """Raises DoesNotFit."""
    for field, least in LEAST.items():
        value = getattr(asked, field)
        if value is not None and value < least:
            raise DoesNotFit(detail=f"{field} is {value:g}, and {least:g} at least")
    if not 0 < asked.held_out_share < 1:
        raise DoesNotFit(detail=f"held_out_share is {asked.held_out_share:g}, and a share between 0 and 1")
    if asked.executor not in (known := ("auto", *get_args(Executor))):
        raise DoesNotFit(detail=f"there is no executor {asked.executor!r}; there is {', '.join(known)}")
    if (asked.cloud is None) is not (asked.cloud_data is None):
        raise DoesNotFit(detail="a cloud model and initial cloud data go together: --cloud and --cloud-data")


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _cloud(asked: RunOptions, spec: ModelSpec) -> GivenCloud | None:
    if asked.cloud is None or asked.cloud_data is None:
        return None
    try:
        program = asked.cloud.read_bytes()
    except OSError as error:
        raise MalformedFile(path=str(asked.cloud), detail=str(error)) from error
    return GivenCloud(program, read_samples(asked.cloud_data, spec).data)


def parse_split(text: str) -> Split:
    """Raises DoesNotFit, which says what there is."""
    return _parsed(SPLITS, text)


def parse_drift(text: str) -> Drift:
    """Raises DoesNotFit, which says what there is."""
    return _parsed(DRIFTS, text)


def _parsed(registry: Registry[KindT], text: str) -> KindT:
    name, _, value = text.partition(":")
    slot, kind = registry.slot, registry.kinds.get(name)
    if kind is None:
        known = ", ".join(_form(registry.kinds[name]) for name in sorted(registry.kinds))
        raise DoesNotFit(detail=f"there is no {slot} {name!r}; there is {known}")
    fields = msgspec.structs.fields(kind)
    if value and not fields:
        raise DoesNotFit(detail=f"{slot} {name} takes nothing behind a colon")
    try:
        given = {fields[0].name: _number(value)} if value else {}
        return registry.parse({"kind": name, **given})
    except WireError as error:
        raise DoesNotFit(detail=f"{slot} {_form(kind)} does not take {value!r}: {error.detail}") from error


def _number(text: str) -> object:
    """What JSON has for it: a number, or else the text itself."""
    try:
        return from_json(text.encode(), float | int)
    except UNREADABLE:
        return text


def _form(kind: type[Kind]) -> str:
    fields = msgspec.structs.fields(kind)
    name = str(kind.__struct_config__.tag)
    return f"{name}:{fields[0].name.upper()}" if fields else name
