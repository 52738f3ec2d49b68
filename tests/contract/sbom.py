"""Writes ``sbom.cdx.json``: what an installation consists of besides our own code, as CycloneDX 1.6, from the locks.

``python -m tests.contract.sbom``. The Python packages are those that ``coterie`` with all extras but ``dev`` needs, and
the agent with all of its own, as they are installed, and ``requirements.lock`` has the hashes of their files; the npm
packages are those whose code the console and the phone's page carry.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contract.npm_locks import PAGES, ROOT, packages_of

FILE = ROOT / "sbom.cdx.json"
OURS = {"coterie", "coterie-agent"}
EXTRAS = {
    "coterie": frozenset({"platform", "demo", "oidc", "s3", "sdk", "simulation", "telemetry", "wandb"}),
    "coterie-agent": frozenset({"mdns", "p2p", "updates"}),
}
Component = Mapping[str, object]


def pinned() -> Mapping[str, str]:
    """Version by package, as ``constraints.txt`` has them."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def needed() -> set[str]:
    """The Python packages of an installation, those that other machines need included."""
    known, found, left = pinned(), set[str](), list(EXTRAS.items())
    seen = set(left)
    while left:
        name, extras = left.pop()
        if name not in OURS:
            found.add(name)
        for text in distribution(name).requires or ():
            wanted = Requirement(text)
            if not _applies(wanted, extras):
                continue
            following = (str(canonicalize_name(wanted.name)), frozenset(wanted.extras))
            if following not in seen and (following[0] in known or following[0] in OURS):
                seen.add(following)
                left.append(following)
    return found


def _applies(wanted: Requirement, extras: frozenset[str]) -> bool:
    return wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def python_components() -> Iterator[Component]:
    versions = pinned()
    for name in sorted(needed()):
        purl = f"pkg:pypi/{name}@{versions[name]}"
        yield {"type": "library", "bom-ref": purl, "name": name, "version": versions[name], "purl": purl}


def npm_components() -> Iterator[Component]:
    carried = {package.purl: package for page in PAGES for package in packages_of(page) if not package.is_tool}
    for purl, package in sorted(carried.items()):
        scope, _, name = package.name.rpartition("/")
        algorithm, digest = package.integrity.split("-", 1)
        yield {
            "type": "library",
            "bom-ref": purl,
            **({"group": scope} if scope else {}),
            "name": name,
            "version": package.version,
            "licenses": [{"license": {"name": package.license}}],
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            "purl": purl,
        }


def bill() -> str:
    """The document; the same locks give the same bytes."""
    ours = distribution("coterie")
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "coterie",
                "name": "coterie",
                "version": ours.version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": f"pkg:pypi/coterie@{ours.version}",
            }
        },
        "components": [*python_components(), *npm_components()],
    }
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(bill())
