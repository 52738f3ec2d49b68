"""What advisory databases know fails the gate, and their silence is said, never taken for a good answer."""

import json
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.contract.advisories import locked
from tests.contract.asking_databases import ASK, Answer, of_npm, of_pip_audit, told
from tests.contract.npm_locks import DIRECTORIES, ROOT

NOW = datetime(2026, 1, 10, tzinfo=UTC)
SOUND = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["3"]}]}
PASSED_OVER = {"name": "c", "skip_reason": "c is not there"}
SILENT = Answer((), "not found")


def test_what_pip_audit_finds() -> None:
    assert of_pip_audit(json.dumps({"dependencies": [SOUND]}), "") == Answer([])
    assert of_pip_audit(json.dumps({"dependencies": [SOUND, WEAK]}), "") == Answer(["b 2: PYSEC-1, CVE-1"])
    assert of_pip_audit(json.dumps({"dependencies": [SOUND, WEAK, PASSED_OVER]}), "") == Answer(
        ["b 2: PYSEC-1, CVE-1"], "1 of 3 packages: c is not there"
    )


def test_what_npm_finds() -> None:
    assert of_npm(json.dumps({"vulnerabilities": {}}), "") == Answer([])
    assert of_npm(json.dumps({"vulnerabilities": {"vite": {"severity": "high"}}}), "") == Answer(["vite: high"])


@pytest.mark.parametrize("output", ["", "[]", "{}", "<html>", '{"message": "405"}'])
def test_who_has_not_answered_has_found_nothing_and_says_so(output: str) -> None:
    for answer in (
        of_pip_audit(output, "one\nthe last line"),
        of_npm(output, "one\nthe last line"),
        of_npm(output, ""),
    ):
        assert not answer.findings
        assert answer.silence


def test_every_lock_of_the_source_is_asked_about() -> None:
    tracked = ["git", "ls-files", "*package-lock.json", "constraints.txt"]
    files = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {str(Path(file).parent) for file in files} - {"."} == set(DIRECTORIES)
    assert len(ASK) == len(files)


def test_findings_fail_and_silence_is_said() -> None:
    assert told([("PyPI", Answer(["b 2: PYSEC-1"])), ("npm", SILENT)], None, NOW) == (
        [
            "PyPI has answered: 1 findings",
            "NOT CHECKED with the advisory database of npm: not found",
            "No advisories are kept (ADVISORIES=DIRECTORY): run `make audit` before a release",
            "PyPI: b 2: PYSEC-1",
        ],
        True,
    )
    assert told([("PyPI", SILENT), ("npm", SILENT)], None, NOW)[1] is False
    assert told([("PyPI", Answer([])), ("npm", Answer([]))], None, NOW) == (
        ["PyPI has answered: 0 findings", "npm has answered: 0 findings"],
        False,
    )


def test_kept_advisories_take_the_place_of_who_is_silent(tmp_path: Path) -> None:
    for ecosystem in ("PyPI", "npm"):
        known = next(package for package in locked() if package.ecosystem == ecosystem)
        affected = {"package": {"ecosystem": ecosystem, "name": known.name}, "versions": [known.version]}
        advisory = {"id": f"GHSA-{ecosystem}", "modified": "2026-01-09T00:00:00Z", "affected": [affected]}
        with zipfile.ZipFile(tmp_path / f"{ecosystem}.zip", "w") as archive:
            archive.writestr("one.json", json.dumps(advisory))
    sentences, found = told([("PyPI", SILENT), ("npm", Answer([]))], tmp_path, NOW)
    assert found
    assert [sentence for sentence in sentences if "GHSA-PyPI" in sentence]
