"""A compiled model and its report, for people."""

from collections.abc import Iterator, Mapping
from io import StringIO

from msgspec import UNSET
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.table import Table

from coterie.compile.pair_report import PairReport
from coterie_wire.bundle import ModelSpec, TensorSpec

WIDTH = 100
"""Columns of plain text."""
SAMPLES = 1000
NAMED_OPERATORS = 8


def describe(model: ModelSpec, report: PairReport) -> RenderableType:
    """Two tables: the model here, and what devices would make of it."""
    facts = Table.grid(padding=(0, 3))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    for row in _facts(model, report):
        facts.add_row(*row)
    devices = Table(title="on a device (a cautious estimate)", title_justify="left", box=None, padding=(0, 3, 0, 0))
    devices.add_column("")
    for heading in ("a step", f"{SAMPLES:,} samples", "memory"):
        devices.add_column(heading, justify="right")
    for device in report.devices:
        samples_s = device.step_s * SAMPLES / model.batch_size
        needs = f"{decimal(report.process_memory_bytes)} of {decimal(device.memory_bytes)}"
        fits = needs if device.fits else f"[red]too much: {needs}[/red]"
        devices.add_row(device.device, duration(device.step_s), duration(samples_s), fits)
    return Group(facts, "", devices)


def plain_text(renderable: RenderableType) -> str:
    """As a terminal of `WIDTH` columns without colours shows it."""
    text = StringIO()
    Console(file=text, width=WIDTH, color_system=None).print(renderable)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def duration(seconds: float) -> str:
    """With the unit that suits it."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def _facts(model: ModelSpec, report: PairReport) -> Iterator[tuple[str, str]]:
    inputs = ", ".join(_tensor(tensor, model) for tensor in model.inputs)
    yield "model", f"{inputs} → {_tensor(model.output, model)}; {model.task}, in batches of {model.batch_size}"
    learned = f"{report.device_parameters:,} of the device model learn"
    cloud = "" if report.cloud_parameters is None else f"; the cloud model has {report.cloud_parameters:,}"
    yield "parameters", learned + cloud
    once = report.train_step_bytes + report.predict_bytes + report.frozen_bytes
    graphs = f"train step {decimal(report.train_step_bytes)}, predict {decimal(report.predict_bytes)}"
    frozen = f", frozen {decimal(report.frozen_bytes)}" if report.frozen_bytes else ""
    yield "downloads", f"once {decimal(once)} ({graphs}{frozen}), each version {decimal(report.parameters_bytes)}"
    memory = f"{decimal(report.step_memory_bytes)} ({decimal(report.process_memory_bytes)} with Python and onnxruntime)"
    yield "train step here", f"{duration(report.step_s)}, {memory}; this machine does {report.gflops:.3g} GFLOP/s"
    yield "precision", "float32, as PyTorch's; it leaves float64 as far as PyTorch's own float32 does"
    yield "operators", _operators(report.operators)
    if report.cloud_parameters is not None:
        problem = report.teacher_problem
        yield "teacher", "devices can learn from the cloud model" if problem is None else f"none: {problem}"


def _operators(operators: Mapping[str, int]) -> str:
    named = list(operators.items())[:NAMED_OPERATORS]
    rest = sum(operators.values()) - sum(count for _, count in named)
    parts = [f"{name} {count}" for name, count in named] + ([f"others {rest}"] if rest else [])
    return f"{sum(operators.values()):,}: {', '.join(parts)}"


def _tensor(tensor: TensorSpec, model: ModelSpec) -> str:
    sizes = map(str, tensor.shape) if model.length is UNSET else model.length.sizes(tensor.name, tensor.shape)
    shape = f" \\[{', '.join(sizes)}]" if tensor.shape else ""
    return f"{tensor.name} {tensor.dtype}{shape}"
