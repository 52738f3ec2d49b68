"""A platform with a seeded fleet, as a real process."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpx

from coterie.releases.repository import KeyFolder, Repository
from coterie_wire.updating import agent_wheel
from tests.console.pages import Keys, keys_of
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, Platform, environment

ADMINISTRATOR = "administrator"


class SeededFleet(NamedTuple):
    """A platform that looks like one with weeks behind it."""

    url: str
    password: str
    """The administrator's."""
    keys: Keys


def publish_releases(beside: Path) -> None:
    """Two releases of the agent, signed and of no content, as the platform of state directory `beside` has them."""
    now, keys = datetime.now(UTC), KeyFolder(beside.with_name("release-keys"), b"open sesame")
    repository = Repository(beside.with_name("releases"))
    repository.create(keys, root_keys=1, threshold=1, now=now)
    for version in ("0.3.0", "0.3.1"):
        wheel = beside.with_name(agent_wheel(version))
        wheel.write_bytes(b"a wheel" * 100_000)
        repository.add([wheel], keys, now=now)
    shutil.copytree(repository.root, beside / "releases", dirs_exist_ok=True)


@contextmanager
def seeded_fleet(state: Path, *, devices: int) -> Iterator[SeededFleet]:
    """Seed a platform in an empty directory and run it."""
    command = [sys.executable, "manage.py", "seed_fleet", "--devices", str(devices)]
    done = subprocess.run(
        command, env=environment(state=str(state)), stdout=subprocess.PIPE, check=True, cwd=ROOT, text=True
    )
    found = re.search(rf"^{ADMINISTRATOR} +password: (\S+)$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    publish_releases(state)
    platform = Platform(state)
    try:
        platform.start()
        given = httpx.post(f"{platform.url}/api/tokens/", auth=(ADMINISTRATOR, found[1]), json={"name": "tests"})
        with OperatorClient(platform.url, given.json()["secret"]) as operator:
            yield SeededFleet(platform.url, found[1], keys_of(operator))
    finally:
        platform.stop()
