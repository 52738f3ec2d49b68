"""A phone trains by kinds that remember, that keep layers of their own, and that send a part."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import OF_ONE, SAMPLES, delivered, device_named
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


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.long] * (one in OWN)) for one in PLANS])
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
    assert kept == {"round": 2 if name in REMEMBERING else 0, "hasOwn": name in OWN}
