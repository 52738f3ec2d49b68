"""Real agents that train for real: killed, unplugged, and behind links that break."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_learning.client.training import Progress
from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.structs import from_json
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import payload, samples
from tests.system.processes import ROOT, environment
from tests.system.proxy import Proxy
from tests.system.real_agent import READY, SAMPLES, UNPLUGGED, RealAgent

UPDATE_BYTES = len(payload(1, Float32Codec()))
CHUNK_BYTES = 1024
"""The most that a broken link makes an agent send twice."""
SHORT, LONG, ENDLESS = 1, 250, 1000
"""Epochs: nothing, seconds, and longer than a test takes."""


@dataclass(frozen=True)
class Case:
    """One agent in a federation of its own that wants one round, behind a proxy of its own."""

    site: Site
    federation: str
    proxy: Proxy
    agent: RealAgent

    def delivered(self) -> dict[str, Any] | None:
        """The agent's update, once it counts."""
        round_ = self.site.operator.round(self.federation, 1)
        updates = [part["delivered"] for part in round_["assignments"] if part["delivered"]] if round_ else []
        assert len(updates) <= 1
        return updates[0] if updates else None

    def assert_published_with_its_one_update(self) -> None:
        round_ = self.site.operator.ended_round(self.federation, 1)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", 1)
        assert self.delivered() is not None
        outcomes = eventually(lambda: self.agent.status()["outcomes"])
        assert [outcome["outcome"] for outcome in outcomes] == ["accepted"]

    def device(self) -> dict[str, Any]:
        """The agent in the REST API."""
        return self.site.operator.get(f"/devices/{self.agent.id}/")


@pytest.fixture
def new_case(site: Site, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Case]]:
    """Makes one: ``new_case(epochs, chunk_bytes=…)``; the agent does not run yet."""
    with ExitStack() as stack:

        def make(epochs: int, **settings: int) -> Case:
            name = request.node.name.removeprefix("test_").replace("_", "-")[:50]
            plan = {
                "local": {"kind": "sgd", "epochs": epochs, "learning_rate": 0.001},
                "codec": {"kind": "float32"},
                "pace": {"kind": "sync", "target_updates": 1, "over_selection": 1},
            }
            pair = site.unused_pair()
            federation = site.operator.start_federation(name, pair=pair, plan=plan, rounds_wanted=1)
            proxy = stack.enter_context(Proxy(site.url))
            token = site.operator.enrolment_token(tag=name)
            agent = RealAgent(tmp_path / "agent", proxy.url, token, **settings)
            stack.callback(agent.kill)
            return Case(site, federation, proxy, agent)

        yield make


def steps(agent: RealAgent, stage: str) -> int | None:
    """How many steps the agent has done, while it is in `stage`."""
    progress = agent.progress()
    return progress.get("steps_done") if progress.get("stage") == stage else None


def until(agent: RealAgent, stage: str, *, more_than: int = 0, within_s: float = 30) -> int:
    """How many steps the agent has done, once it is in `stage` with more than so many."""

    def look() -> int | None:
        done = steps(agent, stage)
        return done if done is not None and done > more_than else None

    return eventually(look, within_s=within_s)


def test_agent_killed_in_mid_training_goes_on_where_it_was(new_case: Callable[..., Case]) -> None:
    case = new_case(LONG)
    case.agent.start()
    until(case.agent, "training")
    case.agent.kill()
    with open_store(Home(case.agent.home)) as store:
        checkpoint = store.work.checkpoint()
    assert checkpoint is not None
    case.agent.start()
    resumed = until(case.agent, "training")
    assert resumed >= from_json(checkpoint.client, Progress).steps_done > 0
    case.assert_published_with_its_one_update()
    update = case.delivered()
    assert update is not None
    assert update["steps_done"] == update["steps_total"]
    assert update["loss_before"] == checkpoint.progress.loss_before
    assert update["train_memory_bytes"] >= checkpoint.progress.memory_bytes > 0


@pytest.mark.long
def test_agent_killed_during_its_upload_sends_the_rest(new_case: Callable[..., Case]) -> None:
    case = new_case(SHORT, chunk_bytes=CHUNK_BYTES)
    case.proxy.holds_uploads_after = half = UPDATE_BYTES // 2
    case.agent.start()
    eventually(lambda: case.proxy.uploaded_bytes == half)
    case.agent.kill()
    assert case.delivered() is None
    case.proxy.holds_uploads_after = None
    case.agent.start()
    case.assert_published_with_its_one_update()
    assert UPDATE_BYTES <= case.proxy.uploaded_bytes <= UPDATE_BYTES + CHUNK_BYTES


@pytest.mark.long
def test_agent_killed_before_it_heard_that_its_update_counts(new_case: Callable[..., Case]) -> None:
    case = new_case(SHORT)
    case.proxy.swallows_receipts = True
    case.agent.start()
    eventually(case.delivered)
    case.agent.kill()
    assert case.agent.status()["outcomes"] == []
    case.proxy.swallows_receipts = False
    case.agent.start()
    case.assert_published_with_its_one_update()
    assert case.proxy.uploaded_bytes == UPDATE_BYTES


@pytest.mark.long
def test_upload_goes_on_after_the_link_broke_at_10_50_and_90_per_cent(new_case: Callable[..., Case]) -> None:
    case = new_case(SHORT, chunk_bytes=CHUNK_BYTES)
    first, *later = (UPDATE_BYTES * share // 100 for share in (10, 50, 90))
    case.proxy.holds_uploads_after = first
    case.agent.start()
    for limit in (*later, None):
        eventually(lambda: case.proxy.uploaded_bytes == case.proxy.holds_uploads_after)
        case.proxy.holds_uploads_after = limit
        case.proxy.break_all()
    case.assert_published_with_its_one_update()
    assert UPDATE_BYTES <= case.proxy.uploaded_bytes <= UPDATE_BYTES + 3 * CHUNK_BYTES


@pytest.mark.long
def test_device_whose_sockets_are_refused_takes_part_over_https(new_case: Callable[..., Case]) -> None:
    case = new_case(SHORT)
    case.proxy.refuses_sockets = True
    case.agent.start()
    case.assert_published_with_its_one_update()
    assert case.agent.status()["status"]["link"] == "https"
    assert case.device()["present"]


def test_unplugged_agent_stops_says_why_and_goes_on_when_it_is_plugged_in(new_case: Callable[..., Case]) -> None:
    case = new_case(ENDLESS)
    case.agent.start()
    until(case.agent, "training")
    assert (case.device()["present"], case.agent.why()) == (True, [])
    case.agent.set_conditions(UNPLUGGED)
    done = until(case.agent, "waiting", within_s=4)  # 2 s, and two commands to see it
    assert case.agent.why() == ["conditions.on_battery"]
    (reason,) = eventually(lambda: case.device()["reasons"])
    assert reason["code"] == "conditions.on_battery"
    assert steps(case.agent, "waiting") == done
    case.agent.set_conditions(READY)
    until(case.agent, "training", more_than=done)
    assert case.agent.why() == []
    eventually(lambda: case.device()["ready"])


@pytest.mark.long
def test_presence_follows_the_heartbeat(new_case: Callable[..., Case]) -> None:
    case = new_case(ENDLESS)
    assert not case.device()["present"]
    case.agent.start()
    eventually(lambda: case.device()["present"])
    until(case.agent, "training")
    heartbeat_s = case.device()["check_in_s"]
    case.agent.kill()
    eventually(lambda: not case.device()["present"], within_s=3 * heartbeat_s + 2)
    assert [reason["code"] for reason in case.device()["reasons"]] == ["fleet.absent"]
    case.agent.start()
    eventually(lambda: case.device()["present"])


@pytest.mark.long
def test_revoked_agent_ends_and_keeps_its_samples(new_case: Callable[..., Case]) -> None:
    case = new_case(ENDLESS)
    case.agent.start()
    until(case.agent, "training")
    case.site.operator.post(f"/devices/{case.agent.id}/revoke/")
    assert eventually(case.agent.exit_status) == 9
    assert case.agent.status()["samples"] == SAMPLES


@pytest.mark.long
def test_the_signing_key_is_replaced_while_an_agent_trains(new_case: Callable[..., Case]) -> None:
    case = new_case(LONG)
    case.agent.start()
    until(case.agent, "training")
    joined_with = trusted_by(case.agent)
    command = [sys.executable, "manage.py", "rotate_signing_key", "--leaked"]
    subprocess.run(command, env=environment(state=str(case.site.platform.state)), cwd=ROOT, check=True)
    case.assert_published_with_its_one_update()
    version = case.site.operator.ended_round(case.federation, 1)["result_version"]
    eventually(lambda: case.device()["held_version"] == version)
    assert trusted_by(case.agent) != joined_with
    assert case.agent.predicted(samples(3, seed=1)[0])


def trusted_by(agent: RealAgent) -> bytes:
    """The platform's key that the agent has pinned."""
    with open_store(Home(agent.home)) as store:
        return store.identity.get().platform_key
