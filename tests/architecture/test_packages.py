"""Every directory of modules is a package, or import-linter would miss it; every module says what it is."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "platform/coterie",
    "edge_agent/coterie_wire",
    "edge_agent/coterie_learning",
    "edge_agent/coterie_agent",
    "recipes/coterie_recipes",
)
MODULES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
)


def test_every_directory_of_modules_is_a_package() -> None:
    assert sorted({path.parent for path in MODULES if not (path.parent / "__init__.py").exists()}) == []


def test_every_module_begins_with_what_it_is() -> None:
    silent = [path for path in MODULES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert [path for path in silent if path.stat().st_size] == []
