"""`platform/` is a source root and never a package, or it would replace the standard library's module of that name."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE_ROOTS = (ROOT / "platform", ROOT / "edge_agent", ROOT / "recipes")


def test_the_source_roots_hold_packages_and_no_modules() -> None:
    assert [path for root in SOURCE_ROOTS for path in root.glob("*.py")] == []


def test_no_directory_of_tests_is_called_platform() -> None:
    assert [path for path in (ROOT / "tests").rglob("platform") if path.is_dir()] == []


@pytest.mark.parametrize("root", SOURCE_ROOTS, ids=lambda root: root.name)
def test_no_test_lies_in_a_source_root(root: Path) -> None:
    patterns = ("test_*.py", "*_test.py", "conftest.py", "tests")
    assert [path for pattern in patterns for path in root.rglob(pattern)] == []


def test_platform_is_the_standard_librarys_module_beside_the_source_root() -> None:
    script = "import platform, sys; sys.stdout.write(platform.python_version())"
    path = [str(ROOT), *map(str, SOURCE_ROOTS)]
    told = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {script}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert told.stdout == ".".join(map(str, sys.version_info[:3]))
