"""Compares everything that is locked with kept advisories, without a network: ``python -m tests.contract.advisories
DIRECTORY``, or ``make audit ADVISORIES=DIRECTORY``.

The directory holds what OSV publishes for each ecosystem (https://google.github.io/osv.dev/data, ``PyPI/all.zip`` and
``npm/all.zip``) as ``PyPI.zip`` and ``npm.zip``. What cannot be checked is said, and counts as a finding.
"""

import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tests.contract.npm_locks import DIRECTORIES, packages_of
from tests.contract.sbom import pinned

OLDEST = timedelta(days=14)
"""Advisories whose newest is older say little about today."""
# Any: the tree of a published JSON format, of which a few branches are read.
Advisory = Mapping[str, Any]
Order = tuple[Any, ...] | Version


class Package(NamedTuple):
    """One that is locked."""

    ecosystem: str
    """As OSV names it: PyPI or npm."""
    name: str
    version: str


def locked() -> list[Package]:
    """Every package that is pinned or in a lock of npm, tools included."""
    python = [Package("PyPI", name, version) for name, version in pinned().items()]
    npm = {Package("npm", each.name, each.version) for directory in DIRECTORIES for each in packages_of(directory)}
    return python + sorted(npm)


def audit(directory: Path, *, now: datetime) -> Iterator[str]:
    """A sentence for each weakness that is known, and for each thing that could not be checked."""
    packages = locked()
    for ecosystem in sorted({package.ecosystem for package in packages}):
        concerned = [package for package in packages if package.ecosystem == ecosystem]
        source = directory / f"{ecosystem}.zip"
        if not source.exists():
            yield f"{len(concerned)} packages of {ecosystem} were not checked: {source} is not there"
            continue
        newest = datetime.min.replace(tzinfo=UTC)
        for advisory in _read(source):
            newest = max(newest, datetime.fromisoformat(advisory["modified"]))
            yield from findings(concerned, advisory)
        if now - newest > OLDEST:
            yield f"the advisories of {ecosystem} end with {newest.date()}: what is known since was not checked"


def findings(packages: Iterable[Package], advisory: Advisory) -> Iterator[str]:
    """Those of `packages` that an advisory names."""
    if "withdrawn" in advisory:
        return
    for affected in advisory.get("affected", ()):
        named = affected["package"]
        for package in packages:
            same = (named["ecosystem"], _plain(named["name"])) == (package.ecosystem, _plain(package.name))
            if same and _is_affected(package, affected):
                names = ", ".join([advisory["id"], *advisory.get("aliases", ())])
                yield f"{package.name} {package.version}: {names}: {advisory.get('summary', 'no summary')}"


def _read(source: Path) -> Iterator[Advisory]:
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            found: Advisory = json.loads(archive.read(name))
            yield found


def _plain(name: str) -> str:
    return name if name.startswith("@") else canonicalize_name(name)


def _is_affected(package: Package, affected: Mapping[str, Any]) -> bool:
    """https://ossf.github.io/osv-schema/#evaluation."""
    if package.version in affected.get("versions", ()):
        return True
    ranges = (each for each in affected.get("ranges", ()) if each["type"] in ("ECOSYSTEM", "SEMVER"))
    return any(_is_within(package, each["events"]) for each in ranges)


def _is_within(package: Package, events: Iterable[Mapping[str, str]]) -> bool:
    own = _order(package.ecosystem, package.version)
    happened = [(_order(package.ecosystem, version), what) for event in events for what, version in event.items()]
    is_affected = False
    for at, what in sorted(happened, key=lambda event: event[0]):  # type: ignore[return-value,arg-type]  # of one ecosystem
        if what == "introduced" and own >= at:  # type: ignore[operator]
            is_affected = True
        elif (what == "fixed" and own >= at) or (what == "last_affected" and own > at):  # type: ignore[operator]
            is_affected = False
    return is_affected


def _order(ecosystem: str, version: str) -> Order:
    """What versions of an ecosystem are ordered by; PEP 440, and https://semver.org, §11."""
    if ecosystem == "PyPI":
        try:
            return Version(version)
        except InvalidVersion:
            return Version("0")  # of long ago; none of those that are locked
    core, _, before = version.partition("+")[0].partition("-")
    numbers = [int(part) for part in core.split(".") if part.isdecimal()]
    parts = (
        tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in before.split(".")) if before else ()
    )
    return (*[*numbers, 0, 0, 0][:3], not before, parts)


def main(directory: Path) -> int:
    found = list(audit(directory, now=datetime.now(UTC)))
    for sentence in found:
        sys.stdout.write(f"{sentence}\n")
    sys.stdout.write(f"{len(locked())} packages are locked; {len(found)} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
