"""Asks the advisory databases about everything that is locked, where they answer: ``make audit-where-possible``.

For a gate that may have no network. What they know of fails it. Where one does not answer, kept advisories take its
place, and where there are none either it is said that nothing was checked; ``make audit`` fails there.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.contract.advisories import audit
from tests.contract.npm_locks import DIRECTORIES


class Answer(NamedTuple):
    """What came of asking."""

    findings: Sequence[str]
    silence: str = ""
    """Why nobody has answered; blank: somebody has."""


def of_pip_audit(output: str, errors: str) -> Answer:
    """What pip-audit has written; it passes over packages that the database has not answered about."""
    found = _json(output)
    if "dependencies" not in found:
        return Answer((), _last_line(errors) or "pip-audit has answered something else")
    findings = [
        f"{package['name']} {package['version']}: {', '.join([each['id'], *each['aliases']])}"
        for package in found["dependencies"]
        for each in package.get("vulns", ())
    ]
    passed_over = [package["skip_reason"] for package in found["dependencies"] if "skip_reason" in package]
    if not passed_over:
        return Answer(findings)
    return Answer(findings, f"{len(passed_over)} of {len(found['dependencies'])} packages: {passed_over[0]}")


def of_npm(output: str, errors: str) -> Answer:
    """What npm has written: an object without ``vulnerabilities`` where the registry has not answered."""
    found = _json(output)
    if "vulnerabilities" not in found:
        return Answer((), str(found.get("message", "")) or _last_line(errors) or "npm has answered something else")
    return Answer([f"{name}: {each['severity']}" for name, each in sorted(found["vulnerabilities"].items())])


ASK: Mapping[str, tuple[str, Callable[[str, str], Answer]]] = {
    "PyPI": (
        "build/audit/bin/pip-audit --no-deps --disable-pip --progress-spinner off --format json "
        "--requirement constraints.txt",
        of_pip_audit,
    ),
    **{
        f"npm ({directory})": (f"npm --prefix {directory} audit --package-lock-only --json", of_npm)
        for directory in DIRECTORIES
    },
}
"""What asks about the packages of a lock, and reads the answer, which is JSON also where something was found."""


def told(answers: Iterable[tuple[str, Answer]], kept: Path | None, now: datetime) -> tuple[list[str], bool]:
    """The sentences to print, and whether anything was found."""
    sentences, found, silent = [], [], False
    for lock, answer in answers:
        found += [f"{lock}: {finding}" for finding in answer.findings]
        if answer.silence:
            silent = True
            sentences.append(f"NOT CHECKED with the advisory database of {lock}: {answer.silence}")
        else:
            sentences.append(f"{lock} has answered: {len(answer.findings)} findings")
    if silent and kept is not None:
        found += audit(kept, now=now)
        sentences.append(f"Compared with the advisories that are kept in {kept}")
    elif silent:
        sentences.append("No advisories are kept (ADVISORIES=DIRECTORY): run `make audit` before a release")
    return [*sentences, *found], bool(found)


def main(kept: Path | None) -> int:
    sentences, found = told([(name, _ask(name)) for name in ASK], kept, datetime.now(UTC))
    sys.stdout.write("".join(f"{sentence}\n" for sentence in sentences))
    return int(found)


def _ask(lock: str) -> Answer:
    command, read = ASK[lock]
    try:
        asked = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    except OSError as error:
        return Answer((), str(error))
    return read(asked.stdout, asked.stderr)


def _json(output: str) -> dict[str, Any]:  # Any: the tree of another program's JSON, of which a few branches are read
    try:
        found = json.loads(output)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else None))
