"""A fleet's simulation from what a command or a program asks for: files, names and numbers."""

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from coterie.simulation.contenders import Contender
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet import splits
from coterie.simulation.fleet.profile import read_profile
from coterie.simulation.fleet.samples import read_samples
from coterie.simulation.fleet.simulate_fleet import FleetRun
from coterie.simulation.fleet.splits import Split
from coterie.simulation.fleet.work import Executor
from coterie.simulation.learners.pair import compiled_pair
from coterie.simulation.on_device import Graphs
from coterie_learning.kinds import Registry
from coterie_learning.plan import Plan
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json

SPLITS = Registry("split", splits, Split)
BATCH_SIZE = 32


class Asked(NamedTuple):
    """What is asked for, beside the plan, the model and the samples."""

    split: str
    """A kind, and after a colon its hyperparameter, e.g. ``dirichlet:0.3``."""
    devices: int | None = None
    each: int | None = None
    rounds: int = 100
    days: float = 30.0
    seed: int = 0
    executor: Executor | Literal["auto"] = "auto"
    workers: int = 1
    batch_size: int = BATCH_SIZE
    held_out_share: float = 0.2
    evaluate_every: int = 1
    fleet: str | None = None
    """A shipped profile's name, or a file."""


def fleet_run(contender: Contender, pair: Path, data: Path, asked: Asked) -> FleetRun:
    """Raises DoesNotFit, MalformedFile or MissingPackage, and what loading and compiling the model raise."""
    if not isinstance(contender, Plan):
        raise DoesNotFit(detail="a fleet runs the rounds of a plan, and this is a baseline")
    split, fleet = parse_split(asked.split), read_profile(asked.fleet)
    compiled = compiled_pair(pair, asked.batch_size)
    return FleetRun(
        plan=contender,
        model=Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict),
        parameters=compiled.parameters,
        samples=read_samples(data, compiled.spec, column=split.column()),
        split=split,
        devices=asked.devices,
        each=asked.each,
        held_out_share=asked.held_out_share,
        rounds=asked.rounds,
        days=asked.days,
        seed=asked.seed,
        executor=asked.executor,
        workers=asked.workers,
        evaluate_every=asked.evaluate_every,
        fleet=fleet,
        names=(pair.name, data.name),
    )


def parse_split(text: str) -> Split:
    """Raises DoesNotFit, which says what there is."""
    name, _, value = text.partition(":")
    kind = SPLITS.kinds.get(name)
    if kind is None:
        known = ", ".join(_form(name) for name in sorted(SPLITS.kinds))
        raise DoesNotFit(detail=f"there is no split {name!r}; there is {known}")
    fields = msgspec.structs.fields(kind)
    if value and not fields:
        raise DoesNotFit(detail=f"split {name} takes nothing behind a colon")
    try:
        given = {fields[0].name: _number(value)} if value else {}
        return SPLITS.parse({"kind": name, **given})
    except WireError as error:
        raise DoesNotFit(detail=f"split {_form(name)} does not take {value!r}: {error.detail}") from error


def _number(text: str) -> object:
    """What JSON has for it: a number, or else the text itself."""
    try:
        return from_json(text.encode(), float | int)
    except UNREADABLE:
        return text


def _form(name: str) -> str:
    fields = msgspec.structs.fields(SPLITS.kinds[name])
    return f"{name}:{fields[0].name.upper()}" if fields else name
