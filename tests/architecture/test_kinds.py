"""A kind is known to its own file alone: nobody else imports it, asks for its type, or compares its name.

What others need to know of it is a method or a property of its slot's interface, so that a new kind is a new file.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from coterie_learning.detectors import DRIFT
from coterie_learning.plan import SLOTS

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(source).with_suffix("").parts): path
    for source in (ROOT / "platform", ROOT / "edge_agent")
    for path in sorted(source.rglob("*.py"))
    if "migrations" not in path.parts
}
REGISTRIES = (*SLOTS.values(), DRIFT)
KINDS = {kind.__module__ for registry in REGISTRIES for kind in registry.kinds.values()}
NAMES = {name for registry in REGISTRIES for name in registry.kinds}
DISTILLATION = "coterie_learning.merge.distill"
OTHER_HALVES: Mapping[str, str] = {
    "coterie.cloud.stage_four": DISTILLATION,
    "coterie.cloud.cloud_update": DISTILLATION,
    "coterie.simulation.distilling_cloud": DISTILLATION,
    "coterie.simulation.cloud_model": DISTILLATION,
}
"""The part of a kind's algorithm that needs PyTorch, which devices do not have; by module, the kind."""


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that `tree` imports, or may: ``from package import module`` says two."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_kinds_name(node: ast.expr) -> bool:
    """Whether it reads ``plan.help.name``, ``kind.name`` or ``plan["help"]["kind"]``."""
    if isinstance(node, ast.Attribute) and node.attr == "name":
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return owner in {*SLOTS, "kind"}
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "kind"


def names_a_kind(node: ast.AST) -> bool:
    """Whether a kind's name is written out in it."""
    return any(isinstance(part, ast.Constant) and part.value in NAMES for part in ast.walk(node))


def branches(tree: ast.AST) -> Iterator[int]:
    """The lines in which `tree` compares a kind's name with one that is written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(is_kinds_name, sides)) and any(map(names_a_kind, sides)):
                yield node.lineno
        elif isinstance(node, ast.Match) and is_kinds_name(node.subject) and any(map(names_a_kind, node.cases)):
            yield node.lineno


def test_no_other_module_knows_a_kind() -> None:
    known = {}
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = set(imported(tree)) & KINDS - {module, OTHER_HALVES.get(module)}
        known[module] = [*sorted(kinds), *(f"a branch in line {line}" for line in branches(tree))]
    assert {module: found for module, found in known.items() if found} == {}


@pytest.mark.parametrize("module", OTHER_HALVES)
def test_what_is_excepted_is_still_needed(module: str) -> None:
    assert OTHER_HALVES[module] in imported(ast.parse(MODULES[module].read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "source",
    [
        'if plan.help.name == "cartel": pass',
        'asks = "cartel" != self.plan.help.name',
        'if kind.name in ("sgd", "prox"): pass',
        'if document["help"]["kind"] == "none": pass',
        'match plan.merge.name:\n case "distill" | "fed_avg": pass',
    ],
)
def test_branches_on_a_name_are_found(source: str) -> None:
    assert list(branches(ast.parse(source))) == [1]


@pytest.mark.parametrize("source", ['if array.dtype.name == "int8": pass', 'if network == "none": pass'])
def test_other_comparisons_are_let_be(source: str) -> None:
    assert list(branches(ast.parse(source))) == []


@pytest.mark.parametrize("source", ["from coterie_learning.help import cartel", "import coterie_learning.help.cartel"])
def test_imports_of_a_kind_are_found(source: str) -> None:
    assert set(imported(ast.parse(source))) & KINDS == {"coterie_learning.help.cartel"}
