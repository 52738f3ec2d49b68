"""A phone takes part in Colla: it learns from the cloud model, which learns from it in turn."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from coterie_learning.plan import PRESETS
from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import delivered, device_named
from tests.system.eventually import eventually
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent
from tests.system.two_ways import publish, samples

pytestmark = pytest.mark.phone
KEPT = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const of = (name) => db.transaction(name).objectStore(name);
  const got = (request) => new Promise((done) => { request.onsuccess = (e) => done(e.target.result); });
  const found = {
    taught: await got(of("taught").count()),
    own: (await got(of("values").get("own")))?.value.base ?? null,
  };
  db.close();
  return found;
}
"""


def colla() -> Json:
    """The preset, with rounds of two devices and short trainings; a fifth is held back to compare models on."""
    plan: Json = tomllib.loads((PRESETS / "colla.toml").read_text(encoding="utf-8"))
    plan["local"] |= {"epochs": 20, "validation_share": 0.2}
    plan["pace"] |= {"target_updates": 2, "min_updates": 2, "deadline_s": 120, "pause_s": 0}
    plan["merge"] |= {"epochs": 5, "device_epochs": 5}
    return plan


@pytest.mark.long
def test_a_phone_learns_from_the_cloud_model_which_learns_from_it(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    operator = world.operator
    published = publish(operator, tmp_path)
    more = {"cloud_data": published.cloud_data, "held_out": published.held_out}
    federation = operator.start_federation("colla", pair=published.pair, plan=colla(), rounds_wanted=2, **more)
    agent = agents("pupil", operator.enrolment_token(tag="colla"), learns=samples(80, shift=0, seed=100))
    phone = phones("learner")
    page = phone.join(operator.enrolment_token(tag="colla"))
    x, y = samples(120, shift=0, seed=101)
    x, y = x[y < 2], y[y < 2]
    phone.add_samples(tmp_path, x, y)
    rounds = [operator.ended_round(federation, number, within_s=240) for number in (1, 2)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * 2
    its = device_named(world, "learner")
    assert [delivered(round_) for round_ in rounds] == [sorted([agent.id, its["id"]])] * 2
    for round_ in rounds:
        (part,) = [one["delivered"] for one in round_["assignments"] if one["device"] == its["id"]]
        assert part["classes"] == [0, 1], "it sends no rows of classes that it has no samples of"
        assert part["loss_after"] < part["loss_before"]
    assert "distill" in its["capabilities"]["kinds"]["local"]
    expect(page.get_by_role("main")).to_contain_text("round 2 of colla, counted")
    kept = page.evaluate(KEPT)
    assert kept["taught"] == len(y), "each sample has an answer of the cloud model, the latest alone"
    assert kept["own"] is not None
    expect(page.locator("#own-model")).to_contain_text("samples that neither has learned here")
    export = f"/devices/{its['id']}/export/"
    figures = eventually(lambda: operator.get(export)["sections"]["personal_figures"])
    assert figures[-1]["samples"] > 0 and figures[-1]["answers"] is True
