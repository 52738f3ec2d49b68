"""A virtual device's personal model is an agent's: the same bytes from the same inputs; and it serves its owner."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie.evaluation.datasets import Dataset
from coterie.simulation.on_device import Graphs, Rows
from coterie.simulation.personal_training import train_personal_model
from coterie_agent.home import Home
from coterie_agent.peers.personal_training import seed_of
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row
from coterie_learning.client.personal import GivenPersonal
from coterie_learning.consent import SCOPES
from coterie_learning.device_plan import PERSONAL
from coterie_learning.help.none import NoHelp
from coterie_learning.local.sgd import Sgd
from coterie_wire.messages import Enrolled
from coterie_wire.tensors import Tensors, encode_tensors
from tests.coterie.simulation.small import run
from tests.coterie_agent.bundles import SPEC, Bundle, make_bundle, parameters, predict_graph, samples, train_step_graph
from tests.coterie_agent.peers.world import Device, plan

GRAPHS = Graphs.of(SPEC, train_step=train_step_graph(), predict=predict_graph())
KINDS = [name for name, kind in PERSONAL.kinds.items() if kind().rules(Sgd()) is not None]
COUNT = 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [None, parameters(4)], ids=["first", "again"])
def test_an_agent_trains_the_same_model(tmp_path: Path, kind: str, before: Tensors | None) -> None:
    home, bundle = Home(tmp_path), make_bundle(version="v1", seed=1)
    with open_store(home) as store:
        enrolled = Enrolled(device="d1", credential="c", platform_key=bundle.platform_key, check_in_s=30)
        store.identity.save(url="http://127.0.0.1", name="kiosk", enrolled=enrolled)
        store.agreements.agree(SCOPES, how="terminal", read="")
        _compare(home, store, bundle, kind, before)


def _compare(home: Home, joined: Store, bundle: Bundle, kind: str, before: Tensors | None) -> None:
    features, labels = samples(COUNT)
    stored = [Row(x.tobytes(), int(label)) for x, label in zip(features, labels, strict=True)]
    joined.samples.add(stored, max_samples=1000)
    if before is not None:
        joined.peers.adopt(PersonalTensors("v0", encode_tensors(dict(before))))
    chosen = msgspec.structs.replace(
        plan(NoHelp(), local_training_every_s=None), personal=PERSONAL.parse({"kind": kind, "epochs": 8})
    )
    agent = Device(home, joined, bundle, {})
    agent.direct(chosen)
    agent.live()

    rules, numbers = chosen.personal.rules(chosen.local), range(1, COUNT + 1)
    assert rules is not None
    given = GivenPersonal(
        rules=rules, model=SPEC, received=parameters(1), personal=before, ids=numbers, seed=seed_of("v1", COUNT)
    )
    rows = Rows(Dataset({"pixels": features.reshape(-1, 2, 2)}, labels), SPEC, numbers)
    found = train_personal_model(given, GRAPHS, rows, held=parameters(1))
    assert found.parameters is not None
    assert joined.peers.personal_tensors() == encode_tensors(dict(found.parameters))
    tuned = joined.peers.tuned()
    assert tuned is not None and found.choice.chosen.right is not None
    assert tuned.own_accuracy == float(np.mean(found.choice.chosen.right))


PLAN: Mapping[str, object] = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.1},
    "pace": {
        "kind": "sync",
        "target_updates": 4,
        "over_selection": 1,
        "min_updates": 2,
        "deadline_s": 200,
        "pause_s": 20,
    },
    "requirements": {"charging": False},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_people_who_differ_are_served_better(kind: str) -> None:
    shared, own = run(dict(PLAN)), run({**PLAN, "personal": {"kind": kind}})
    assert own.accuracy.mean > shared.accuracy.mean + 0.02
    assert [one.outcome for one in own.rounds] == [one.outcome for one in shared.rounds], "rounds go on as without it"
    assert own.bytes_by_kind == shared.bytes_by_kind, "no byte more is sent"
