"""A candidate answers beside the champion in a real prediction service: nobody sees it, and its figures come home."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from coterie_agent.client import Predictions
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.processes import ROOT, environment
from tests.system.real_agent import RealAgent

NO_SOCKET = '[serving]\nsocket = ""\n'
"""The path of a test's directory may be too long for one."""
SHADOW_S = 15
"""Three times as long as the service takes to write down what it has compared."""
PLAN = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.001},
    "pace": {"kind": "sync", "target_updates": 1, "min_updates": 1, "over_selection": 1},
    "rollout": {"kind": "canary", "share": 1.0, "reports": 1, "threshold": 1.0, "shadow_within_s": SHADOW_S},
}


@pytest.fixture
def agent(site: Site, tmp_path: Path) -> Iterator[RealAgent]:
    with ExitStack() as stack:
        found = RealAgent(tmp_path / "a", site.url, site.operator.enrolment_token(tag="shadow"), settings=NO_SOCKET)
        stack.callback(found.kill)
        found.start()
        yield found


@pytest.mark.long
def test_agreement_and_times_come_home_and_the_champion_alone_is_shown(site: Site, agent: RealAgent) -> None:
    operator, pair = site.operator, site.unused_pair()
    champion = operator.get(f"/pairs/{pair}/")["device_champion"]
    federation = operator.start_federation("shadow", pair=pair, plan=PLAN, rounds_wanted=1)

    def rollout() -> dict[str, Any] | None:
        found = operator.list("/rollouts/", federation=federation)
        return found[0] if found else None

    eventually(lambda: (found := rollout()) is not None and found["state"] == "measuring")
    arguments = agent._arguments("serve")
    with subprocess.Popen(arguments, env=environment(), cwd=ROOT, stderr=subprocess.DEVNULL) as service:
        try:
            eventually(lambda: (agent.home / "serve.json").exists())
            x, _ = samples(8, seed=3)
            shown = set()
            with Predictions(agent.home) as model:

                def ask() -> dict[str, Any] | None:
                    shown.add(model.predict(x.reshape(8, -1).tolist()).version)
                    found = rollout()
                    return found if found is not None and found["state"] != "measuring" else None

                ended = eventually(ask, every_s=0.1)
        finally:
            service.kill()
    figures = ended["figures"]
    assert (ended["state"], figures["reports"], figures["shadowed"]) == ("promoted", 1, 1)
    assert 0 <= figures["agreement"] <= 1
    for which in ("champion", "candidate"):
        assert 0 < figures[f"{which}_p50_s"] <= figures[f"{which}_p99_s"]
    assert champion in shown
    (told,) = [one for one in operator.get(f"/rollouts/{ended['id']}/")["trials"] if one["device"] == agent.id]
    assert told["agreement"] == figures["agreement"]
    speeds: Any = operator.get(f"/pairs/{pair}/speed-classes/")  # asked for until there are any
    assert {speed["work"] for one in speeds for speed in one["speeds"]} <= {"step", "predict"}
