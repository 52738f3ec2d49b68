"""What every benchmark gives: figures, as a table for people and as JSON for programs."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

DIRECTORY = Path("build/bench")
VERSIONS_OF = ("torch", "onnxruntime", "numpy", "Django", "celery")


class Figure(msgspec.Struct, frozen=True):
    """One measured value."""

    case: str
    metric: str
    value: float
    unit: str
    against: str | None = None
    """What it is compared with, with its value or as a target: ``eager PyTorch, 1.93 ms``, ``target <= 0.5 s``."""
    ratio: float | None = None
    """How many times better than `against`; above 1 is better."""


def publish(name: str, figures: Sequence[Figure]) -> None:
    """Write ``build/bench/NAME.json`` and show the table."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    path = DIRECTORY / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2))
    console = Console()
    console.print(_table(name, figures))
    console.print(f"{machine()}\n{versions(VERSIONS_OF)}\n{path}", highlight=False)


def machine() -> str:
    """Processor, cores and system, for the reader of a figure."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()} {platform.release()}"


def versions(packages: Iterable[str]) -> str:
    """The installed ones of `packages`, and Python."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _table(name: str, figures: Sequence[Figure]) -> Table:
    table = Table(title=name, title_justify="left")
    for column in ("case", "metric", "value", "against", "ratio"):
        table.add_column(column, justify="right" if column in ("value", "ratio") else "left")
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}×"
        table.add_row(figure.case, figure.metric, f"{figure.value:,.4g} {figure.unit}", figure.against or "", ratio)
    return table
