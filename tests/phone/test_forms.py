"""A phone takes the smaller forms of the version that it holds, measures them, and says which one answers and why."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import OF_ONE, device_named
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.processes import ROOT, environment

pytestmark = pytest.mark.phone
KNOWN = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const read = (store, ask) => new Promise((done) => {
    ask(db.transaction(store).objectStore(store)).onsuccess = (e) => done(e.target.result);
  });
  const known = (await read("values", (rows) => rows.get("forms")))?.value ?? null;
  const blobs = await read("blobs", (rows) => rows.getAllKeys());
  db.close();
  return { known, blobs };
}
"""


def offer(world: World, version: str, *more: str) -> None:
    command = [sys.executable, "-m", "tests.phone.offer_form", version, *more]
    subprocess.run(command, env=environment(state=str(world.platform.state)), check=True, cwd=ROOT)


@pytest.mark.long
def test_a_phone_measures_the_forms_of_its_version_and_passes_over_what_does_not_run(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("forms", pair=next(world.pairs), plan=OF_ONE, rounds_wanted=1)
    phone = phones("forms")
    page = phone.join(operator.enrolment_token(tag="forms"))
    phone.add_samples(tmp_path, *samples(60, seed=14))
    version = str(operator.ended_round(federation, 1, within_s=240)["result_version"])
    offer(world, version)
    forms = page.locator("#forms")
    expect(forms).to_contain_text(re.compile(r"Its smaller form int8 takes \d"), timeout=240_000)
    expect(forms).to_contain_text(re.compile(r"The whole model takes \d"))
    expect(forms.get_by_text("it answers")).to_have_count(1)
    kept = page.evaluate(KNOWN)
    assert kept["known"]["version"] == version
    chosen, graph = kept["known"]["chosen"], kept["known"]["graph"]
    assert (graph is None) is (chosen == "float32")
    (listed,) = operator.get(f"/versions/{version}/variants/")
    assert graph is None or graph["sha256"] in kept["blobs"]
    assert listed["name"] == "int8"
    its = device_named(world, "forms")

    def told() -> list[Json] | None:
        found: list[Json] = operator.get(f"/devices/{its['id']}/latencies/")
        return found if {one["form"] for one in found} == {"float32", "int8"} else None

    latencies = eventually(told, within_s=120)
    assert {(one["work"], one["version"]) for one in latencies} == {("predict", version)}

    offer(world, version, "broken")
    expect(forms).to_contain_text("Its smaller form int8 does not run here", timeout=240_000)
    expect(forms).to_contain_text(re.compile(r"The whole model takes .*; it answers"))
    after = page.evaluate(KNOWN)["known"]
    assert (after["chosen"], after["graph"]) == ("float32", None)
    assert after["digest"] != kept["known"]["digest"]
    assert any("does not run here" in complaint for complaint in phone.complaints)
    phone.complaints.clear()
