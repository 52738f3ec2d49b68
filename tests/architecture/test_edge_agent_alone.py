"""The device side stands alone: it imports what its own pyproject.toml names, and nothing of the platform."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

EDGE_AGENT = Path(__file__).parents[2] / "edge_agent"
PACKAGES = ("coterie_wire", "coterie_learning", "coterie_agent")
IMPORT_NAMES = {"pynacl": "nacl"}
"""Distributions that are imported by another name."""
NOT_ON_A_DEVICE = (
    "coterie",
    "django",
    "rest_framework",
    "channels",
    "celery",
    "torch",
    "onnx",
    "onnxscript",
    "sklearn",
)


def dependencies() -> tuple[str, ...]:
    return _imported(_project()["dependencies"])


def extras() -> tuple[str, ...]:
    """What an owner may install beside them."""
    return tuple(name for asked in _project()["optional-dependencies"].values() for name in _imported(asked))


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((EDGE_AGENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _imported(requirements: Iterable[str]) -> tuple[str, ...]:
    distributions = (requirement.split(">=")[0] for requirement in requirements)
    return tuple(IMPORT_NAMES.get(name, name) for name in distributions)


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def modules() -> tuple[str, ...]:
    paths = sorted(path for package in PACKAGES for path in (EDGE_AGENT / package).rglob("*.py"))
    names = (".".join(path.relative_to(EDGE_AGENT).with_suffix("").parts) for path in paths)
    return tuple(name.removesuffix(".__init__") for name in names if not name.endswith(".__main__"))


def test_the_device_side_asks_for_neither_django_nor_pytorch() -> None:
    assert not set(dependencies()) & set(NOT_ON_A_DEVICE)


def test_every_import_is_named_as_a_dependency_and_every_dependency_is_imported() -> None:
    imported = {
        name.partition(".")[0]
        for package in PACKAGES
        for path in (EDGE_AGENT / package).rglob("*.py")
        for name in imports(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert imported - set(PACKAGES) - sys.stdlib_module_names == {*dependencies(), *extras()}


@pytest.fixture(scope="module")
def imported_alone() -> subprocess.CompletedProcess[str]:
    """Every module of the device side, imported where nothing of the platform can be, and no extra is installed."""
    script = f"""
import importlib, sys
sys.path.insert(0, {str(EDGE_AGENT)!r})
sys.modules.update(dict.fromkeys({(*NOT_ON_A_DEVICE, *extras())!r}))  # None: importing it raises ImportError
for name in {modules()!r}:
    importlib.import_module(name)
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


def test_every_module_imports_where_nothing_of_the_platform_is(
    imported_alone: subprocess.CompletedProcess[str],
) -> None:
    assert imported_alone.returncode == 0, imported_alone.stderr


@pytest.mark.parametrize("command", ["join", "run", "status", "why"])
def test_an_agent_that_waits_holds_neither_numpy_nor_a_runtime(command: str) -> None:
    """They take 17 MB and more, and on a small device seconds: they are imported where something is computed."""
    script = f"""
import sys
sys.path.insert(0, {str(EDGE_AGENT)!r})
import coterie_agent.commands.{command}
print(*{{"numpy", "onnxruntime"}} & set(sys.modules))
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.split() == []
