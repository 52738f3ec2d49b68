"""A platform with a seeded fleet, as a real process."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

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


@contextmanager
def seeded_fleet(state: Path, *, devices: int) -> Iterator[SeededFleet]:
    """Seed a platform in an empty directory and run it."""
    command = [sys.executable, "manage.py", "seed_fleet", "--devices", str(devices)]
    done = subprocess.run(
        command, env=environment(state=str(state)), stdout=subprocess.PIPE, check=True, cwd=ROOT, text=True
    )
    found = re.search(rf"^{ADMINISTRATOR} +password: (\S+)$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    platform = Platform(state)
    try:
        platform.start()
        given = httpx.post(f"{platform.url}/api/tokens/", auth=(ADMINISTRATOR, found[1]), json={"name": "tests"})
        with OperatorClient(platform.url, given.json()["secret"]) as operator:
            yield SeededFleet(platform.url, found[1], keys_of(operator))
    finally:
        platform.stop()
