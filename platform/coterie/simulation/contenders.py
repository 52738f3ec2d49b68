"""Contenders: the plans and baselines that can be simulated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.simulation import baselines
from coterie.simulation.baselines import Baseline
from coterie.simulation.errors import MalformedFile, UnknownPlan
from coterie.simulation.scenario import read_toml
from coterie_learning.kinds import Registry
from coterie_learning.plan import PRESETS, Document, Plan, parse_plan, plan_document
from coterie_learning.unknown_names import nearest
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

BASELINES = Registry("baseline", baselines, Baseline)

Contender = Plan | Baseline


def shipped_contenders() -> Mapping[str, Path]:
    """Files by name: the presets, and the baselines."""
    paths = [*PRESETS.glob("*.toml"), *Path(baselines.__path__[0]).glob("*.toml")]
    return {path.stem: path for path in sorted(paths, key=lambda path: path.stem)}


def read_contender(name: str) -> Contender:
    """The contender shipped under `name`, or the one in the file of that name.

    Raises UnknownPlan or MalformedFile.
    """
    known = shipped_contenders()
    path = known.get(name, Path(name))
    if not path.is_file():
        raise UnknownPlan(name=name, nearest=nearest(name, known) or "none", known=", ".join(known))
    return parse_contender(read_toml(path), path=name)


def parse_contender(raw: object, *, path: str) -> Contender:
    """Raises MalformedFile."""
    try:
        if isinstance(raw, Mapping) and "baseline" in raw:
            return BASELINES.parse(from_values(raw, _BaselineFile).baseline)
        return parse_plan(raw)
    except (msgspec.ValidationError, WireError) as error:
        raise MalformedFile(path=path, detail=str(error)) from error


def contender_document(contender: Contender) -> Document:
    """The contender as JSON with every hyperparameter written out."""
    if isinstance(contender, Plan):
        return plan_document(contender)
    return {"baseline": msgspec.to_builtins(contender)}


class _BaselineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    baseline: Annotated[dict[str, object], Meta(min_length=1)]
