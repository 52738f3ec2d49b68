"""A phone trains a model of its own beside the version, answers with the better one, and tells how it did."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import OF_ONE, device_named
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json

pytestmark = pytest.mark.phone
PLAN: Json = {**OF_ONE, "personal": {"kind": "fine_tuned", "epochs": 5, "learning_rate": 0.05, "patience": 2}}
KEPT = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const read = (name) => new Promise((done) => {
    db.transaction("values").objectStore("values").get(name).onsuccess = (e) => done(e.target.result?.value);
  });
  const names = ["own", "tuned", "tuning", "identity"];
  const [own, tuned, tuning, { credential }] = await Promise.all(names.map(read));
  db.close();
  return { bytes: own?.tensors.length ?? 0, tuned, isTuning: tuning !== undefined, credential };
}
"""


def test_the_better_model_answers_and_all_that_is_known_is_exported(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("personal", pair=next(world.pairs), plan=PLAN, rounds_wanted=1)
    phone = phones("personal")
    page = phone.join(operator.enrolment_token(tag="personal"))
    phone.add_samples(tmp_path, *samples(120, seed=12))
    round_ = operator.ended_round(federation, 1, within_s=240)
    version = round_["result_version"]
    own = page.locator("#own-model")
    expect(own).to_contain_text("samples that neither has learned here", timeout=120_000)
    its = device_named(world, "personal")

    def told() -> Json | None:
        sections = operator.get(f"/devices/{its['id']}/export/")["sections"]
        found: list[Json] = [row for row in sections["personal_figures"] if row["version"] == version]
        return found[0] if found else None

    figures = eventually(told, within_s=120)
    expect(own).not_to_contain_text("Training it")
    kept = page.evaluate(KEPT)
    assert not kept["isTuning"]
    assert kept["tuned"]["comparedWith"] == version
    assert figures["answers"] is kept["tuned"]["answers"] is (kept["bytes"] > 0)
    assert figures["samples"] == kept["tuned"]["samples"] == pytest.approx(24, abs=12)
    assert figures["own_accuracy"] >= figures["version_accuracy"]
    expect(own).to_contain_text("Your own model answers" if figures["answers"] else "What all learned together answers")
    assert "fine_tuned" in its["capabilities"]["kinds"]["personal"]
    assert not (found := faults_everywhere(page)), "\n".join(found)

    with page.expect_download() as download:
        page.get_by_role("button", name="Export all that is known of it").click()
    download.value.save_as(tmp_path / "device.json")
    document = json.loads((tmp_path / "device.json").read_text())
    assert document["format"] == "coterie-phone-export/1"
    assert (document["device"], document["name"]) == (its["id"], "personal")
    assert document["stored"]["samples"] == 120
    assert document["personal_model"]["comparedWith"] == version
    assert "report-personal" in {one["what"] for one in document["sent"]}
    platform = document["platform"]
    assert platform["format"] == "coterie-platform-export/1"
    known = operator.get(f"/devices/{its['id']}/export/")["sections"]
    assert platform["sections"].keys() == known.keys()
    assert platform["sections"]["updates"] == known["updates"]
    assert len(known["updates"]) == 1
    assert kept["credential"] not in json.dumps(document)


def test_without_a_network_the_export_is_what_the_browser_keeps(world: World, phones: NewPhone, tmp_path: Path) -> None:
    phone = phones("cut off")
    page = phone.join(world.operator.enrolment_token())
    phone.set_network("none")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export all that is known of it").click()
    expect(page.get_by_role("status").first).to_contain_text("The platform does not answer")
    download.value.save_as(tmp_path / "device.json")
    document = json.loads((tmp_path / "device.json").read_text())
    assert document["platform"] is None
    assert document["name"] == "cut off"
