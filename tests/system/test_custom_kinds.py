"""Kinds of a package of the user's own, on a real platform and real agents that have it installed."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coterie_learning.other_environment import ACME_KINDS, OtherEnvironment
from tests.system.conftest import Prepared
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform
from tests.system.real_agent import RealAgent

PLAN = {
    "local": {"kind": "acme_warm_up", "epochs": 2, "learning_rate": 0.05, "warm_up_steps": 10},
    "merge": {"kind": "acme_decaying", "decay": 0.5},
    "pace": {"kind": "sync", "target_updates": 1, "over_selection": 1},
}


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> OtherEnvironment:
    """An environment in which the package of the how-to is installed and signed off."""
    environment = OtherEnvironment(tmp_path_factory.mktemp("acme"))
    environment.install(ACME_KINDS)
    allowed = environment.run("-m", "coterie", "kinds", "allow", "acme-kinds", "--json")
    assert json.loads(allowed.stdout) == {"distribution": "acme-kinds", "allowed": True}
    return environment


@pytest.fixture
def platform(acme: OtherEnvironment, prepared: Prepared, tmp_path: Path) -> Iterator[Platform]:
    shutil.copytree(prepared.untouched, tmp_path / "state")
    running = Platform(tmp_path / "state", python=acme.python)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.mark.long
def test_devices_that_have_the_package_learn_by_it_and_others_are_not_asked(
    acme: OtherEnvironment, platform: Platform, prepared: Prepared, tmp_path: Path
) -> None:
    with OperatorClient(platform.url, prepared.seeded.token) as operator:
        assert "acme_warm_up" in operator.get("/plan-schema/")["local"]
        federation = operator.start_federation("acme", pair=prepared.seeded.pairs[0], plan=PLAN, rounds_wanted=2)
        token = operator.enrolment_token(tag="acme", uses=2)
        agents = [
            RealAgent(tmp_path / name, platform.url, token, python=python)
            for name, python in (("without", sys.executable), ("with-it", acme.python))
        ]
        try:
            without, having = agents
            without.start()
            eventually(lambda: without.why() == ["rounds.lacks_kinds"])
            (reason,) = without.command("why")["waits"]
            assert reason["sentence"] == "needs acme-kinds for local acme_warm_up"
            having.start()
            for number in (1, 2):
                round_ = operator.ended_round(federation, number)
                assert (round_["state"], round_["metrics"]["updates"]) == ("published", 1)
                assert {part["device"] for part in round_["assignments"]} == {having.id}
        finally:
            for agent in agents:
                agent.kill()
