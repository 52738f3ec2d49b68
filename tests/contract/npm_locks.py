"""What the committed locks of npm hold: packages whose code a page carries, and tools that build and test it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = ("frontend/console", "frontend/phone")
"""Whose code an installation serves."""
DIRECTORIES = (*PAGES, "tests/portability")
"""Every one with a lock."""


class NpmPackage(NamedTuple):
    """One that a lock holds."""

    name: str
    version: str
    license: str
    integrity: str
    """The hash of its archive, as npm writes it: ``sha512-`` and base64."""
    is_tool: bool
    """Whether no page carries it."""

    @property
    def purl(self) -> str:
        """https://github.com/package-url/purl-spec."""
        return f"pkg:npm/{self.name.replace('@', '%40')}@{self.version}"


def packages_of(directory: str) -> Iterator[NpmPackage]:
    """Of the lock in a directory of the source tree, one as often as it lies in the tree of packages."""
    for place, facts in json.loads((ROOT / directory / "package-lock.json").read_text())["packages"].items():
        if place:
            is_tool = bool(facts.get("dev") or facts.get("devOptional"))
            name = place.rpartition("node_modules/")[2]
            yield NpmPackage(name, facts["version"], facts.get("license", ""), facts.get("integrity", ""), is_tool)
