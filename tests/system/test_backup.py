"""A platform that burns down in the middle of a round is restored from its backup, and the round goes on."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from tests.system.conftest import Prepared, Site
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.processes import ROOT, Platform, environment
from tests.system.real_agent import RealAgent
from tests.system.scripted_device import ScriptedDevice

DEVICES = 3
EPOCHS = 250
"""Seconds of training."""


@pytest.fixture
def site(prepared: Prepared, tmp_path: Path) -> Iterator[Site]:
    """A platform of its own, to lose."""
    shutil.copytree(prepared.untouched, tmp_path / "state")
    platform = Platform(tmp_path / "state")
    try:
        platform.start()
        with OperatorClient(platform.url, prepared.seeded.token) as operator:
            yield Site(platform, prepared.seeded, operator)
    finally:
        platform.stop()


def coterie(*arguments: str) -> dict[str, object]:
    """What a command prints."""
    command = [sys.executable, "-m", "coterie", *arguments, "--json"]
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    printed: dict[str, object] = msgspec.json.decode(done.stdout)
    return printed


def begin_round(site: Site, name: str, stack: ExitStack) -> tuple[str, list[ScriptedDevice]]:
    """A federation and its devices, which wait for the first round."""
    pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}

    federation = site.operator.start_federation(name, pair=site.unused_pair(), plan={"pace": pace}, rounds_wanted=1)
    token = site.operator.enrolment_token(tag=name, uses=DEVICES)
    devices = [ScriptedDevice(site.url, token, f"{name}-{number}") for number in range(DEVICES)]
    for device in devices:
        stack.callback(device.close)
        device.check_in()
    return federation, devices


def published(site: Site, federation: str) -> str:
    """The hash of what the round published, of everybody's update."""
    round_ = site.operator.ended_round(federation, 1)
    assert (round_["state"], round_["metrics"]["updates"]) == ("published", DEVICES), round_
    parameters: str = site.operator.get(f"/versions/{round_['result_version']}/")["parameters"]
    return parameters


@pytest.mark.long
def test_a_lost_platform_goes_on_with_its_round(site: Site, tmp_path: Path) -> None:
    with ExitStack() as stack:
        plan = {
            "local": {"kind": "sgd", "epochs": EPOCHS, "learning_rate": 0.001},
            "pace": {"kind": "sync", "target_updates": 1, "over_selection": 1},
        }
        training = site.operator.start_federation("training", pair=site.unused_pair(), plan=plan, rounds_wanted=1)
        agent = RealAgent(tmp_path / "agent", site.url, site.operator.enrolment_token(tag="training"))
        stack.callback(agent.kill)
        lost, devices = begin_round(site, "lost", stack)
        assignments = [device.assignment(1).assignment for device in devices]
        devices[0].deliver(assignments[0], payload(0))
        devices[1].deliver(assignments[1], payload(1))
        agent.start()
        eventually(lambda: agent.progress().get("stage") == "training")

        backup, state = str(tmp_path / "backup"), str(site.platform.state)
        taken = coterie("backup", backup, "--state", state)
        assert taken["missing"] == []
        devices[1].deliver(assignments[1], payload(1))  # again, as a device does that has had no answer
        devices[2].offer(assignments[2], payload(2))

        site.platform.kill_for_good()
        shutil.rmtree(state)
        restored = coterie("restore", backup, "--state", state)
        assert restored["files"] == taken["files"]
        site.platform.start()

        devices[2].deliver(assignments[2], payload(2))
        quiet, others = begin_round(site, "quiet", stack)
        for number, device in enumerate(others):
            device.deliver(device.assignment(1).assignment, payload(number))
        assert published(site, lost) == published(site, quiet)

        round_ = site.operator.ended_round(training, 1)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", 1)
        outcomes = eventually(lambda: agent.status()["outcomes"])
        assert [outcome["outcome"] for outcome in outcomes] == ["accepted"]
