"""What is installed is what is locked, file by file, and the bill says so."""

import json
import re
from importlib.metadata import distributions

import pytest
from packaging.utils import canonicalize_name

from tests.contract.npm_locks import DIRECTORIES, packages_of
from tests.contract.sbom import FILE, OURS, ROOT, bill, pinned

OF_THE_MACHINE = {"torch"}
"""Its build is chosen by the machine: with or without CUDA."""
OF_PYTHON = {"pip", "setuptools", "wheel"}


def locked() -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 of each file, by package."""
    content = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in content.splitlines() if line]
    names = [line.split()[0].split("==") for line in lines]
    hashes = [re.findall(r"--hash=sha256:([0-9a-f]{64})(?!\S)", line) for line in lines]
    return {canonicalize_name(name): (version, found) for (name, version), found in zip(names, hashes, strict=True)}


def test_every_pin_is_locked_with_hashes_and_nothing_else_is() -> None:
    found = locked()
    assert {name: version for name, (version, _) in found.items()} == {
        name: version for name, version in pinned().items() if name not in OF_THE_MACHINE
    }
    assert [name for name, (_, hashes) in found.items() if not hashes] == []


def test_what_is_installed_is_pinned() -> None:
    installed = {canonicalize_name(each.name): each.version.partition("+")[0] for each in distributions()}
    for name in OURS | OF_PYTHON:
        installed.pop(name, None)
    of_torch = {name for name in installed if name.startswith("nvidia-") or name == "triton"}
    assert {name: installed[name] for name in installed.keys() - of_torch} == {
        name: version for name, version in pinned().items() if name in installed
    }


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_a_lock_of_npm_is_that_of_its_package_and_hashes_every_archive(directory: str) -> None:
    asked = json.loads((ROOT / directory / "package.json").read_text())
    lock = json.loads((ROOT / directory / "package-lock.json").read_text())["packages"][""]
    for group in ("dependencies", "devDependencies"):
        assert lock.get(group, {}) == asked.get(group, {}), f"run: npm install --package-lock-only in {directory}"
    packages = list(packages_of(directory))
    assert packages
    assert [package.name for package in packages if not package.integrity.startswith("sha512-")] == []


def test_the_bill_is_that_of_the_locks() -> None:
    assert FILE.read_text() == bill(), "run: make lock"


def test_the_bill_has_the_packages_of_the_platform_and_of_both_pages_and_no_tools() -> None:
    components = json.loads(FILE.read_text())["components"]
    found = {component["purl"].partition("@")[0] for component in components}
    assert {
        "pkg:pypi/django",
        "pkg:pypi/torch",
        "pkg:pypi/onnxruntime",
        "pkg:npm/react",
        "pkg:npm/onnxruntime-web",
    } <= found
    assert not found & {"pkg:pypi/pytest", "pkg:pypi/mypy", "pkg:npm/vite", "pkg:npm/typescript"}
    references = [component["bom-ref"] for component in components]
    assert len(references) == len(set(references))
