"""Job: one run of a simulated fleet: a plan, a seed and some rounds, on what the runs of a sweep have in common."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob, Limits
from coterie.cloud.figures import SimulationFigures
from coterie.core.errors import CoterieError, ErrorKind
from coterie_learning.plan import Document

LIMITS = Limits(wall_s=24 * 3600, cpu_s=24 * 3600, memory_bytes=8 << 30, confined=True)


class CannotRun(CoterieError):
    """Fields: detail."""

    code = "simulation.cannot_run"
    kind = ErrorKind.INVALID
    sentence = "The simulation cannot be run: {detail}"


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters in which runs of one fleet differ."""

    plan: Document
    """Every hyperparameter written out."""
    seed: Annotated[int, Meta(ge=0, le=2**53)]
    rounds: Annotated[int, Meta(ge=1, le=1_000_000)]
    evaluate_every: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    """Rounds from one measurement of a version to the next."""
    ends_s: Annotated[float, Meta(gt=0)] | None = None
    """Where samples arrive over time, the simulated time at which the run ends early; None: with the last of them."""


DESCRIPTION = "told"
"""Name of the tensor that holds a fleet's `ToldOfFleet`, and more, as JSON."""


class FleetDescription(msgspec.Struct, frozen=True):
    """What people call a fleet's model and its samples, among all else that its file tells."""

    names: tuple[str, str]
    devices: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None
    """None: as many as the split makes."""


class FleetRunArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    fleet: ReadPath
    """The common part of all runs, as `coterie.simulation.fleet.shared` writes it."""
    wanted: RunRequest
    keep: WritePath
    """The directory of checkpoints from which it resumes."""
    code: ReadPath
    """The agent's code, which simulated devices run."""


class FleetRunResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same arguments give the same bytes."""

    outcome: str
    """A `coterie.simulation.fleet.outcome.FleetOutcome`, as JSON."""
    figures: SimulationFigures


JOB = ChildJob(
    module=__name__,
    work="coterie.simulation.fleet.shared:run_stored",
    arguments=FleetRunArguments,
    result=FleetRunResult,
    errors=(CannotRun,),
)
