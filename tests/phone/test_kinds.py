"""A phone trains by kinds that remember, that keep layers of their own, and that send a part."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import MANY, OF_ONE, SAMPLES, delivered, device_named
from tests.system.model import samples
from tests.system.operator_client import Json

pytestmark = pytest.mark.phone
TUNED: Json = {"learning_rate": 0.05}
PLANS: dict[str, Json] = {
    "scaffold": {"local": {"kind": "scaffold", "steps": 12, **TUNED}, "merge": {"kind": "scaffold"}},
    "fed-dyn": {"local": {"kind": "fed_dyn", "epochs": 2, **TUNED}, "merge": {"kind": "fed_dyn"}},
    "random-subset": {"local": {"kind": "random_subset", "share": 0.25, "epochs": 2, **TUNED}},
    "fed-rep": {"local": {"kind": "shared_body", "personal": "*bias", "head_epochs": 1, "epochs": 1, **TUNED}},
    "mocha": {"local": {"kind": "multitask", "epochs": 2, **TUNED}, "merge": {"kind": "multitask"}},
    "per-fedavg": {
        "local": {"kind": "per_fedavg", "steps": 6, "alpha": 0.05, "beta": 0.05},
        "personal": {"kind": "fine_tuned", "epochs": 1, "steps": 1},
    },
}
SOLVED: Json = {
    **OF_ONE,
    "local": {"kind": "second_order"},
    "codec": {"kind": "float32"},
    "merge": {"kind": "boosted_trees", "edge_rounds": 1, "learning_rate": 1.0},
}
"""One round for the edges of bins, then one for each level of a tree."""
REMEMBERING = {"scaffold", "fed-dyn", "mocha"}
OWN = {"fed-rep", "mocha"}
KEPT = """
async (federation) => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const read = (store, key) => new Promise((done) => {
    db.transaction(store).objectStore(store).get(key).onsuccess = (e) => done(e.target.result);
  });
  const [state, own] = [await read("states", federation), await read("values", "own")];
  db.close();
  const remembered = new TextDecoder().decode(state.remembered);
  return { round: Number(/round[^0-9]*([0-9]+)/.exec(remembered)?.[1] ?? 0), hasOwn: own !== undefined };
}
"""


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.long] * (one != "scaffold")) for one in PLANS])
def test_two_rounds_are_counted_and_what_the_kind_keeps_is_kept(
    name: str, world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    plan = {**OF_ONE, **PLANS[name]}
    federation = operator.start_federation(name, pair=next(world.pairs), plan=plan, rounds_wanted=2)
    phone = phones(name)
    page = phone.join(operator.enrolment_token(tag=name))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=5))
    rounds = [operator.ended_round(federation, number, within_s=240) for number in (1, 2)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * 2
    its = device_named(world, name)
    assert [delivered(round_) for round_ in rounds] == [[its["id"]]] * 2
    first, second = (one["delivered"] for round_ in rounds for one in round_["assignments"])
    assert second["loss_after"] < first["loss_before"], "a random subset may find little to learn in one of them"
    expect(page.get_by_role("main")).to_contain_text(f"round 2 of {name}, counted")
    kept = page.evaluate(KEPT, name)
    assert kept["round"] == (2 if name in REMEMBERING else 0)
    if "personal" not in PLANS[name]:  # a tuned model is kept where it is better, tried some time after a round
        assert kept["hasOwn"] == (name in OWN)


@pytest.mark.long
def test_trees_grow_from_a_phones_sums(
    world: World, phones: NewPhone, recipe_pairs: Mapping[str, str], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("trees", pair=recipe_pairs["trees"], plan=SOLVED, rounds_wanted=3)
    phone = phones("trees")
    page = phone.join(operator.enrolment_token(tag="trees"))
    x = np.random.default_rng(5).normal(size=(MANY, 6)).astype(np.float32)
    phone.add_samples(tmp_path, x, (x[:, 0] > 0).astype(np.int64))
    rounds = [operator.ended_round(federation, number, within_s=240) for number in (1, 2, 3)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * 3
    assert [delivered(round_) for round_ in rounds] == [[device_named(world, "trees")["id"]]] * 3
    first, last = (rounds[at]["assignments"][0]["delivered"] for at in (0, -1))
    assert last["accuracy_before"] > 0.9 > first["accuracy_before"], "one split tells these classes apart"
    expect(page.get_by_role("main")).to_contain_text("round 3 of trees, counted")
