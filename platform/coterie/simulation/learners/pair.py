"""A device model of the user's own, as ``torch.export.save`` writes it."""

import gc
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Task
from coterie.simulation.learners import LearnerKind
from coterie.simulation.learners.compiled_once import Compiled, compiled_once
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs
from coterie_learning.local import Local
from coterie_wire.bundle import ModelSpec

if TYPE_CHECKING:
    from coterie.compile.compiled import CompiledModel


class Pair(LearnerKind, frozen=True, tag="pair"):
    """A classifier, compiled as the platform does it without a recipe; it begins with the parameters in the file."""

    file: Annotated[str, Meta(min_length=1, description="the exported device model")]
    batch_size: Annotated[int, Meta(ge=1, le=4096, description="samples in an optimisation step")] = 32

    def begin(self, task: Task, local: Local, *, seed: int) -> NeuralLearner:  # noqa: ARG002 - the file has parameters
        compiled = compiled_pair(Path(self.file), self.batch_size)
        spec = compiled.spec
        here, there = ({one.name: (one.dtype, one.shape) for one in inputs} for inputs in (spec.inputs, task.inputs))
        if here != there:
            raise DoesNotFit(detail=f"the model takes {_named(here)}, the samples are {_named(there)}")
        if task.classes != spec.classes:
            raise DoesNotFit(detail=f"the model tells {spec.classes} classes apart, the samples have {task.classes}")
        graphs = Graphs.of(spec, train_step=compiled.train_step, predict=compiled.predict)
        first = compiled.parameters
        return NeuralLearner(graphs, local, parameters=first, first=first, received=first)


@cache
def compiled_pair(path: Path, batch_size: int) -> Compiled:
    """The graphs of the model at `path`. Raises DoesNotFit, or what loading and compiling raise."""
    model = f"pair {batch_size} ".encode() + _digest(path)
    compiled = compiled_once(model, partial(_compile, path, batch_size))
    problem = why_not_simulated(compiled.spec)
    if problem is not None:
        raise DoesNotFit(detail=f"simulations do not take {path.name} yet: {problem}")
    return compiled


def _digest(path: Path) -> bytes:
    """Nothing of a file that cannot be read: loading it says why."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""


def _compile(path: Path, batch_size: int) -> "CompiledModel":
    with _without_collections():
        from coterie.compile.compiled import compile_model  # only now: PyTorch takes seconds to import
        from coterie.compile.upload import load_upload

        return compile_model(load_upload(path), batch_size=batch_size)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Little of what PyTorch loads and a compilation makes is garbage: looking for it takes a seventh of the start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def why_not_simulated(spec: ModelSpec) -> str | None:
    """Why simulations do not take such a model yet; None: those of rounds on samples that devices have do."""
    if spec.task != "classes" or spec.length is not UNSET:
        return "they simulate classifiers of samples that have one shape"
    if spec.frozen:
        return "they simulate models all of whose parameters are trained"
    return None


def dtypes_of(spec: ModelSpec) -> set[str]:
    """Those of its inputs."""
    return {tensor.dtype for tensor in spec.inputs}


def _named(inputs: Mapping[str, tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{name} {dtype} {list(shape)}" for name, (dtype, shape) in inputs.items())
