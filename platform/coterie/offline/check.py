"""Compiles and tries programs in the confined child process in which a platform does."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from coterie.child.job import ReportProgress
from coterie.child.run import run_child
from coterie.cloud.preflight_job import JOB, LIMITS, PreflightArguments, PreflightResult
from coterie.compile.errors import BatchOutOfRange
from coterie.compile.recipe import parse_recipe, recipe_document
from coterie.compile.recipe.loss.custom import Custom
from coterie.offline.description import describe, plain_text
from coterie_learning.plan import Document
from coterie_wire.errors import WireError

FILES = ("train_step.onnx", "predict.onnx", "parameters.safetensors", "frozen.safetensors", "teacher.onnx")
REPORT = "report.json"
MOST_SAMPLES = 4096
"""In a batch."""


@dataclass(frozen=True)
class Checked:
    """A model that a platform would accept. Printing it prints the report."""

    result: PreflightResult

    def __str__(self) -> str:
        return plain_text(describe(self.result.model, self.result.report))


def check_programs(
    *,
    device: Path,
    cloud: Path | None = None,
    loss: Path | None = None,
    recipe: Document,
    batch_size: int,
    out: Path | None = None,
    on_progress: ReportProgress | None = None,
) -> Checked:
    """Compile the device model, train it for some steps and measure it; with `cloud`, check that both fit together.

    `loss` is the program of a loss of one's own, which the recipe calls custom.
    `out` is a directory for graphs, parameters and `REPORT`; nothing is written unless all went well.
    Raises WireError ``recipe.invalid``, BatchOutOfRange or the errors of job `preflight`.
    """
    if not 1 <= batch_size <= MOST_SAMPLES:
        raise BatchOutOfRange(batch_size=batch_size, smallest=1, largest=str(MOST_SAMPLES))
    parsed = parse_recipe(recipe)
    if isinstance(parsed.loss, Custom) != (loss is not None):
        detail = (
            f"recipe: a loss of kind custom comes with its program, and no other does; this one is {parsed.loss.name}"
        )
        raise WireError("recipe.invalid", detail)
    with tempfile.TemporaryDirectory(prefix="coterie-compile-") as directory:
        train_step, predict, parameters, frozen, teacher = (str(Path(directory, name)) for name in FILES)
        arguments = PreflightArguments(
            device=str(device.absolute()),
            cloud=None if cloud is None else str(cloud.absolute()),
            loss=None if loss is None else str(loss.absolute()),
            batch_size=batch_size,
            labels=None,
            recipe=recipe_document(parsed),
            train_step=train_step,
            predict=predict,
            parameters=parameters,
            frozen=frozen,
            teacher=teacher,
        )
        result = run_child(JOB, arguments, limits=LIMITS, on_progress=on_progress)
        if out is not None:
            Path(directory, REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(result)))
            out.mkdir(exist_ok=True)
            for path in Path(directory).iterdir():
                shutil.copyfile(path, out / path.name)
    return Checked(result)
