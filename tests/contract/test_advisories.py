"""The audit finds what an advisory names, by versions and by ranges, and says what it could not check."""

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.contract import advisories
from tests.contract.advisories import Package, audit, findings, locked

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def advisory(ecosystem: str, name: str, *events: dict[str, str], versions: tuple[str, ...] = ()) -> advisories.Advisory:
    ranges = [{"type": "ECOSYSTEM" if ecosystem == "PyPI" else "SEMVER", "events": list(events)}] if events else []
    affected = {"package": {"ecosystem": ecosystem, "name": name}, "ranges": ranges, "versions": list(versions)}
    return {"id": "GHSA-1", "aliases": ["CVE-1"], "modified": "2026-01-09T00:00:00Z", "affected": [affected]}


@pytest.mark.parametrize(
    ("version", "is_found"),
    [
        ("4.2", True),
        ("4.2.10", True),
        ("4.2.11", False),
        ("4.1", False),
        ("5.0rc1", False),
        ("5.0", True),
        ("5.1", False),
    ],
)
def test_ranges_of_python(version: str, is_found: bool) -> None:
    told = advisory(
        "PyPI", "Django", {"introduced": "4.2"}, {"fixed": "4.2.11"}, {"introduced": "5.0"}, {"fixed": "5.0.3"}
    )
    assert bool(list(findings([Package("PyPI", "django", version)], told))) is is_found


@pytest.mark.parametrize(
    ("version", "is_found"),
    [("1.9.0", True), ("1.10.0", True), ("1.10.1-rc.2", True), ("1.10.1", True), ("1.10.2", False)],
)
def test_ranges_of_npm(version: str, is_found: bool) -> None:
    told = advisory("npm", "@scope/a", {"introduced": "0"}, {"last_affected": "1.10.1"})
    assert bool(list(findings([Package("npm", "@scope/a", version)], told))) is is_found


def test_versions_that_are_listed_and_what_was_withdrawn() -> None:
    told = advisory("PyPI", "typing_extensions", versions=("1.0",))
    assert list(findings([Package("PyPI", "typing-extensions", "1.0")], told)) == [
        "typing-extensions 1.0: GHSA-1, CVE-1: no summary"
    ]
    assert not list(findings([Package("PyPI", "typing-extensions", "1.0")], {**told, "withdrawn": "2026"}))
    assert not list(findings([Package("npm", "typing-extensions", "1.0")], told))


def test_what_is_locked_is_compared_and_what_is_missing_or_old_is_said(tmp_path: Path) -> None:
    (django,) = (package for package in locked() if package.name == "django")
    with zipfile.ZipFile(tmp_path / "PyPI.zip", "w") as archive:
        archive.writestr("GHSA-1.json", json.dumps(advisory("PyPI", "Django", versions=(django.version,))))
    found = list(audit(tmp_path, now=NOW))
    assert found[0].startswith(f"django {django.version}: GHSA-1")
    assert "of npm were not checked" in found[1]
    assert len(found) == 2
    assert "was not checked" in list(audit(tmp_path, now=NOW.replace(month=3)))[1]
