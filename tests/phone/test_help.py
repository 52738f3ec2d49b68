"""A phone and an agent help each other: the phone gets a part of the agent's model, and gives one of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import device_named
from tests.system.eventually import eventually
from tests.system.operator_client import Json, OperatorClient
from tests.system.real_agent import RealAgent
from tests.system.test_peers import BATCH, FAMILIAR, NEW, PLAN, samples

pytestmark = pytest.mark.phone
LEARNED = 40 * BATCH
KNOWS_ALL, KNOWS_FEW = (0, FAMILIAR, NEW), (0, FAMILIAR)
KEPT_OF_HELP = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const keys = await new Promise((done) => {
    db.transaction("values").objectStore("values").getAllKeys().onsuccess = (e) => done(e.target.result);
  });
  db.close();
  return keys;
}
"""


def has_told(operator: OperatorClient, device: str) -> None:
    """Wait until it has learned its classes and told so."""

    def told() -> bool:
        profiles = operator.list("/profiles/", device=device)
        counts, hits = (sum(profiles[0]["profile"].get(name, ())) if profiles else 0 for name in ("counts", "hits"))
        return counts > 0 and hits > 0.9 * counts

    eventually(told, within_s=120)


def judged(operator: OperatorClient, federation: str) -> Json:
    """The transfer of the first request that was judged."""

    def found() -> Json | None:
        requests = operator.list("/help-requests/", federation=federation, state="judged")
        return requests[-1] if requests else None

    (transfer,) = eventually(found, within_s=120)["transfers"]
    return dict(transfer)


def meeting() -> tuple[Any, Any]:
    """Two batches with what a device never saw."""
    return samples(2 * BATCH, (0, NEW), seed=99)


def test_a_phone_whose_model_fails_is_helped_by_an_agent(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("phone-is-helped", pair=next(world.pairs), plan=PLAN)
    agent = agents("knows", operator.enrolment_token(tag="phone-is-helped"), learns=samples(LEARNED, KNOWS_ALL, seed=5))
    phone = phones("newcomer")
    page = phone.join(operator.enrolment_token(tag="phone-is-helped"))
    phone.add_samples(tmp_path, *samples(LEARNED, KNOWS_FEW, seed=6))
    its = device_named(world, "newcomer")
    has_told(operator, agent.id)
    has_told(operator, its["id"])
    phone.add_samples(tmp_path, *meeting(), before=LEARNED)
    transfer = judged(operator, federation)
    assert (transfer["state"], transfer["helper"]) == ("kept", agent.id)
    assert transfer["accuracy_after"] > transfer["accuracy_before"]
    help_ = page.locator("#peers")
    expect(help_).to_contain_text(f"help with class {NEW} kept", timeout=60_000)
    for what in ("report-profile", "ask-help", "give-verdict"):
        expect(page.locator("#receipts summary", has_text=what).first).to_be_visible()
    expect(page.locator("#receipts")).not_to_contain_text("portion,")
    assert not (found := faults_everywhere(page)), "\n".join(found)


def test_a_phone_helps_an_agent_and_keeps_nothing_of_it_once_it_has_left(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("phone-helps", pair=next(world.pairs), plan=PLAN)
    phone = phones("helper")
    token = operator.enrolment_token(tag="phone-helps")
    invited = phone.open(f"/phone/#join={token}").get_by_role("main")
    expect(invited).to_contain_text("a part of that model may go to a device that asks for help")
    phone.kill()
    page = phone.join(token)
    phone.add_samples(tmp_path, *samples(LEARNED, KNOWS_ALL, seed=6))
    its = device_named(world, "helper")
    assert "cartel" in its["capabilities"]["kinds"]["help"]
    agent = agents("target", operator.enrolment_token(tag="phone-helps"), learns=samples(LEARNED, KNOWS_FEW, seed=6))
    has_told(operator, its["id"])
    has_told(operator, agent.id)
    agent.ingest(*meeting())
    transfer = judged(operator, federation)
    assert (transfer["state"], transfer["helper"], transfer["way"]) == ("kept", its["id"], "platform")
    x, _ = samples(20, (NEW,), seed=7)
    assert agent.predicted(np.asarray(x)).count(NEW) >= 18
    expect(page.locator("#peers")).to_contain_text(f"helped another device with class {NEW}", timeout=60_000)
    expect(page.locator("#peers")).to_contain_text("nothing covered it")
    expect(page.locator("#receipts")).to_contain_text("portion,")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Leave", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This device has not joined")
    assert page.evaluate(KEPT_OF_HELP) == []
