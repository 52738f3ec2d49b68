"""Colla for real: two behaviours become two groups, a poisoned device moves nobody's model, a killed merge goes on."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import Manifest
from coterie_wire.structs import from_json
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import RealAgent
from tests.system.scripted_device import ScriptedDevice
from tests.system.two_ways import CLASSES, Published, publish, samples

SHIFTS = (0, 1, 0, 1, 2)
"""By device: how far its labels are from the largest feature. The last one's are nobody else's: it is poisoned."""
POISONED = 4
PLAN: dict[str, object] = {
    "local": {"kind": "distill", "lambda_d": 0.8, "learning_rate": 0.5, "epochs": 30, "patience": 5},
    "pace": {"kind": "sync", "target_updates": 5, "min_updates": 5, "over_selection": 1},
    "merge": {
        "kind": "distill",
        "epochs": 20,
        "learning_rate": 0.01,
        "device_epochs": 30,
        "device_learning_rate": 0.2,
    },
    # Five devices are too few for halves to agree on anything.
    "groups": {"kind": "affinity", "least_members": 2, "least_strength": 0},
}

EPOCHS, KILLED_AFTER = 1000, 80
"""Of the cloud model: some seconds of work, of which a small part is done when everything is killed."""
SLOW_PLAN: dict[str, object] = {
    "local": {"kind": "sgd"},
    "pace": {"kind": "sync", "target_updates": 2, "min_updates": 2, "over_selection": 1},
    "merge": {"kind": "distill", "epochs": EPOCHS, "patience": EPOCHS, "learning_rate": 1e-5, "device_epochs": 3},
}


@pytest.fixture(scope="module")
def published(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish(site.operator, tmp_path_factory.mktemp("pair"))


@pytest.fixture
def agents(site: Site, tmp_path: Path) -> Iterator[Sequence[RealAgent]]:
    token = site.operator.enrolment_token(tag="colla", uses=len(SHIFTS))
    with ExitStack() as running:
        made = []
        for number, shift in enumerate(SHIFTS):
            learns = samples(120, shift=shift, seed=100 + number)
            agent = RealAgent(tmp_path / f"device-{number}", site.url, token, learns=learns)
            running.callback(agent.kill)
            made.append(agent)
        yield made


@pytest.mark.long
def test_two_behaviours_become_two_groups_and_a_poisoned_device_moves_nobody(
    site: Site, published: Published, agents: Sequence[RealAgent], tmp_path: Path
) -> None:
    federation = site.operator.start_federation(
        "colla",
        pair=published.pair,
        plan=PLAN,
        cloud_data=published.cloud_data,
        held_out=published.held_out,
        rounds_wanted=1,
    )
    for agent in agents:
        agent.start()
    round_ = site.operator.ended_round(federation, 1, within_s=120)
    assert round_["state"] == "published", round_

    delivered = {part["device_name"]: part["delivered"] for part in round_["assignments"]}
    poisoned = delivered[f"device-{POISONED}"]
    assert poisoned["kept"] is False
    assert poisoned["cloud_accuracy"] < 0.2 < 0.35 < min(delivered[f"device-{n}"]["cloud_accuracy"] for n in range(4))
    assert poisoned["classes"] == [0, 1, 2]
    assert round_["metrics"]["cloud_accuracy"] > round_["metrics"]["cloud_accuracy_before"] - 0.05

    (split,) = site.operator.list("/splits/", federation=federation)
    assert split["groups"] == 2 and split["reason_sentence"].startswith("2 groups"), split
    memberships = site.operator.list("/memberships/", federation=federation, current="true")
    group_of = {one["device_name"]: one["group_name"] for one in memberships}
    assert group_of["device-0"] == group_of["device-2"] != group_of["device-1"] == group_of["device-3"]
    in_use = {
        version["lineage"]: version["id"]
        for version in site.operator.list("/versions/", pair=published.pair, role="device")
        if version["champion"]
    }
    assert len(in_use) == 3

    x, by_largest = samples(100, shift=0, seed=999)
    np.savez(tmp_path / "unseen.npz", x=x)
    for number in (0, 1):
        version = in_use[group_of[f"device-{number}"]]
        eventually(lambda: (agents[number].status()["status"] or {}).get("version") == version, within_s=30)  # noqa: B023
        predicted = agents[number].command("predict", str(tmp_path / "unseen.npz"))["predictions"]
        said = np.array([one["index"] for one in predicted])
        # One model for both behaviours is right in half of the cases at best.
        assert np.mean(said == (by_largest + SHIFTS[number]) % CLASSES) > 0.65


@pytest.mark.long
def test_a_merge_that_is_killed_while_it_teaches_goes_on_where_it_was_and_publishes_once(
    site: Site, published: Published
) -> None:
    before = versions(site, published.pair)
    federation = site.operator.start_federation(
        "killed", pair=published.pair, plan=SLOW_PLAN, cloud_data=published.cloud_data, rounds_wanted=1
    )
    token = site.operator.enrolment_token(tag="killed", uses=2)
    with ExitStack() as running:
        devices = [
            running.enter_context(closing(ScriptedDevice(site.url, token, f"killed-{number}"))) for number in range(2)
        ]
        for device in devices:
            device.check_in()
        for seed, device in enumerate(devices):
            assignment = device.assignment(1)
            model = from_json(assignment.manifest.manifest, Manifest).model
            rng = np.random.default_rng(seed)
            update = {one.name: rng.normal(scale=0.01, size=one.shape).astype(np.float32) for one in model.parameters}
            device.deliver(assignment.assignment, Int8().encode(update, seed=seed).payload)

    def taught() -> int:
        """Epochs of the cloud model, as the round tells them; 0 before the first, or where it has ended."""
        round_ = site.operator.round(federation, 1)
        found = round_ and re.search(r"teaching the cloud model of base, (\d+) of", round_["reason_sentence"])
        return int(found[1]) if found else 0

    at_kill = eventually(lambda: (epochs := taught()) >= KILLED_AFTER and epochs)
    site.platform.kill_all()
    round_ = site.operator.round(federation, 1)
    assert round_ and round_["state"] == "merging", round_
    told: set[int] = set()

    def ended() -> bool:
        told.add(taught())
        newest = site.operator.round(federation, 1)
        return bool(newest) and newest["state"] in ("published", "abandoned")

    eventually(ended, every_s=0.1)
    told.discard(0)
    assert max(told) > at_kill, "it was seen teaching again"
    assert min(told) >= at_kill, "and never from the beginning"
    round_ = site.operator.ended_round(federation, 1)
    assert (round_["state"], round_["metrics"]["cloud_epochs"]) == ("published", EPOCHS), round_
    after = versions(site, published.pair)
    for role in ("cloud", "device"):
        assert len(after[role]) == len(before[role]) + 1
        assert [version["number"] for version in after[role] if version["champion"]] == [len(after[role])]
    eventually(lambda: not list((site.platform.state / "merges").iterdir()))  # it has left no checkpoint


def versions(site: Site, pair: str) -> dict[str, list[dict[str, Any]]]:
    """The base's, by role."""
    return {
        role: [one for one in site.operator.list("/versions/", pair=pair, role=role) if not one["lineage"]]
        for role in ("cloud", "device")
    }
