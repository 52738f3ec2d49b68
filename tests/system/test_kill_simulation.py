"""A plan that is tried while the platform is killed: it goes on where it was, and ends as one that nobody disturbed."""

import shutil
from pathlib import Path

import pytest

from tests.system.conftest import Prepared
from tests.system.eventually import eventually
from tests.system.operator_client import Json, OperatorClient
from tests.system.processes import Platform

ROUNDS = 20
PLAN: Json = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.001},
    "pace": {"kind": "sync", "target_updates": 5, "min_updates": 2},
}


@pytest.mark.long
def test_a_plan_that_is_tried_survives_the_platform(prepared: Prepared, tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(prepared.untouched, state)
    platform = Platform(state)
    try:
        platform.start()
        with OperatorClient(platform.url, prepared.seeded.token) as operator:
            federation = operator.start_federation("tried", pair=prepared.seeded.pairs[0], plan=PLAN)
            path = f"/federations/{federation}/plan-forecasts/"
            asked = {
                "dataset": prepared.seeded.held_out,
                "profile": "kiosks",
                "devices": 30,
                "each": 32,
                "rounds": ROUNDS,
            }

            def tried(*states: str) -> Json | None:
                newest: Json = operator.get(path)["forecasts"][0]
                has_moved = newest["job"]["progress"] > 0.1
                return newest if newest["job"]["state"] in states and has_moved else None

            operator.post(path, asked)
            eventually(lambda: tried("running"), within_s=120)
            platform.kill_all()
            disturbed = eventually(lambda: tried("succeeded", "failed"), within_s=300)
            operator.post(path, asked)
            whole = eventually(lambda: tried("succeeded", "failed"), within_s=300)
    finally:
        platform.stop()
    assert disturbed["job"]["state"] == "succeeded", disturbed["job"]
    assert disturbed["job"]["attempt"] > whole["job"]["attempt"] == 1
    assert disturbed["expected"] == whole["expected"]
