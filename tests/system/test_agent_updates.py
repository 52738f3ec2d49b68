"""A real agent is replaced by a wheel built here, goes back from one that is broken, and back when it is told to."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coterie.releases.repository import KeyFolder, Repository
from coterie_agent import VERSION
from tests.system.conftest import Prepared
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, Platform, environment
from tests.system.real_agent import RealAgent

WORKS, BROKEN, LATER = "9.0.0", "9.1.0", "9.2.0"
WITHIN_S = 120
pytestmark = pytest.mark.long


def built(folder: Path, version: str, *, is_broken: bool = False) -> Path:
    """The agent's wheel, as if it were of another release."""
    source = shutil.copytree(ROOT / "edge_agent", folder / version, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "coterie_agent/__init__.py"):
        path = source / name
        path.write_text(path.read_text().replace(f'"{VERSION}"', f'"{version}"'))
    if is_broken:
        (source / "coterie_agent/runner.py").write_text('raise RuntimeError("a release that does not work")\n')
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(source)], check=True, timeout=WITHIN_S)
    (wheel,) = folder.glob(f"coterie_agent-{version}-*.whl")
    return wheel


def publish(repository: Repository, state: Path) -> None:
    """As an operator does, where the platform runs."""
    command = [sys.executable, "-m", "coterie", "releases", "publish", str(repository.root), "--state", str(state)]
    subprocess.run(command, env=environment(), cwd=ROOT, check=True, timeout=WITHIN_S)


class Fleet:
    """A platform with a repository of releases, and one agent that may be replaced."""

    def __init__(
        self, root: Path, state: Path, operator: OperatorClient, agent: RealAgent, repository: Repository
    ) -> None:
        self.operator = operator
        self.agent = agent
        self._root = root
        self._repository = repository
        self._state = state
        self._keys = KeyFolder(root / "keys", b"open sesame")

    def release(self, version: str, *, is_broken: bool = False) -> None:
        wheel = built(self._root, version, is_broken=is_broken)
        self._repository.add([wheel], self._keys, now=datetime.now(UTC))
        publish(self._repository, self._state)

    def roll_out(self, version: str, **terms: float) -> str:
        asked = {"version": version, "device": self.agent.id, "probation_s": 60, "hold_s": 0, **terms}
        return str(self.operator.post("/agent-rollouts/", asked)["id"])

    def ended(self, rollout: str) -> dict[str, Any]:
        return eventually(lambda: self._if_ended(rollout), within_s=WITHIN_S)

    def part(self, rollout: str) -> dict[str, Any]:
        """That of its one device."""
        (found,) = self.operator.list("/agent-updates/", rollout=rollout)
        return dict(found)

    def runs(self, version: str) -> bool:
        return bool(self.operator.get(f"/devices/{self.agent.id}/")["capabilities"]["agent"] == version)

    def _if_ended(self, rollout: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.operator.get(f"/agent-rollouts/{rollout}/")
        return None if found["state"] == "running" else found


@pytest.fixture
def fleet(prepared: Prepared, tmp_path: Path) -> Iterator[Fleet]:
    state = shutil.copytree(prepared.untouched, tmp_path / "state")
    repository = Repository(tmp_path / "releases")
    repository.create(KeyFolder(tmp_path / "keys", b"open sesame"), root_keys=1, threshold=1, now=datetime.now(UTC))
    publish(repository, state)
    platform = Platform(state)
    platform.start()
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        with OperatorClient(platform.url, prepared.seeded.token) as operator:
            token = operator.enrolment_token(tag="updated")
            settings = '[updates]\ntake = "on"\n'
            agent = RealAgent(tmp_path / "agent", platform.url, token, settings=settings, variables=own)
            try:
                agent.start()
                yield Fleet(tmp_path, state, operator, agent, repository)
            finally:
                agent.kill()
    finally:
        platform.stop()


def test_an_agent_is_replaced_and_goes_back(fleet: Fleet) -> None:
    fleet.release(WORKS)
    first = fleet.ended(fleet.roll_out(WORKS))
    assert (first["state"], fleet.part(first["id"])["state"]) == ("done", "installed")
    assert fleet.runs(WORKS)

    fleet.release(BROKEN, is_broken=True)
    second = fleet.ended(fleet.roll_out(BROKEN))
    assert (second["state"], second["reason_code"]) == ("rolled_back", "agent_rollouts.failing")
    assert fleet.part(second["id"])["reason_code"] == "updates.crashed"
    assert fleet.runs(WORKS)

    fleet.release(LATER)
    third = fleet.roll_out(LATER, hold_s=3600)
    eventually(lambda: fleet.runs(LATER), within_s=WITHIN_S)
    eventually(lambda: fleet.part(third)["state"] == "installed", within_s=WITHIN_S)
    fleet.operator.post(f"/agent-rollouts/{third}/roll-back/", {})
    eventually(lambda: fleet.runs(WORKS) and fleet.part(third)["state"] == "returned", within_s=WITHIN_S)

    told = fleet.agent.command("updates")
    assert told["version"] == WORKS
    assert [one["outcome"] for one in told["ended"]] == ["installed", "rolled_back", "installed", "rolled_back"]
    assert fleet.agent.exit_status() is None, "the process that was started first goes on, whoever it is by now"
