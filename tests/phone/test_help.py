"""A phone and an agent help each other: the phone gets a part of the agent's model, and gives one of its own."""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import OF_ONE, delivered, device_named
from tests.system.eventually import eventually
from tests.system.operator_client import Json, OperatorClient
from tests.system.real_agent import RealAgent
from tests.system.test_peers import BATCH, FAMILIAR, NEW, PLAN, samples

pytestmark = [pytest.mark.phone, pytest.mark.long]
LEARNED = 40 * BATCH
KNOWS_ALL, KNOWS_FEW = (0, FAMILIAR, NEW), (0, FAMILIAR)
EPOCHS = 300
IN_ROUNDS: Json = {
    **PLAN,
    "local": {**PLAN["local"], "epochs": EPOCHS, "learning_rate": PLAN["local"]["learning_rate"] / EPOCHS},
    "pace": {**OF_ONE["pace"], "deadline_s": 600},
}
"""A round lasts several times as long as help takes, and its steps, each as much shorter, lead as far as `PLAN`'s."""
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
    """The transfer of the first request with the new class that was judged.

    A device may have asked for help with the familiar classes before, while it had hardly learned them.
    """

    def found() -> Json | None:
        requests = operator.list("/help-requests/", federation=federation, state="judged")
        return next((request for request in reversed(requests) if NEW in request["classes"]), None)

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


def test_a_phone_in_a_round_helps_an_agent_meanwhile_and_its_update_is_counted(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("meanwhile", pair=next(world.pairs), plan=IN_ROUNDS, rounds_wanted=1)
    operator.post(f"/federations/{federation}/pause/")  # devices learn their classes before a round asks one
    phone = phones("busy")
    page = phone.join(operator.enrolment_token(tag="meanwhile"))
    phone.add_samples(tmp_path, *samples(LEARNED, KNOWS_ALL, seed=6))
    agent = agents("asks", operator.enrolment_token(tag="meanwhile"), learns=samples(LEARNED, KNOWS_FEW, seed=6))
    its = device_named(world, "busy")["id"]
    has_told(operator, its)
    has_told(operator, agent.id)
    operator.post(f"/devices/{agent.id}/pause/")  # the round is to be the phone's
    operator.post(f"/federations/{federation}/start/")
    expect(page.get_by_role("heading", name=re.compile(r"^Training: step [1-9]"))).to_be_visible(timeout=60_000)
    agent.ingest(*meeting())
    transfer = judged(operator, federation)
    agent.kill()  # it would ask again: no new batch has told it yet that it does well
    assert (transfer["state"], transfer["helper"]) == ("kept", its)
    round_ = operator.ended_round(federation, 1, within_s=240)
    assert (round_["state"], delivered(round_)) == ("published", [its])
    (part,) = round_["assignments"]
    update = part["delivered"]
    assert update["steps_done"] == update["steps_total"], "training went on to its end"
    moments = [part["offered_at"], transfer["matched_at"], transfer["delivered_at"], update["received_at"]]
    assert moments == sorted(moments, key=datetime.fromisoformat), "help was asked for and given while it was in hand"
    expect(page.locator("#peers")).to_contain_text(f"helped another device with class {NEW}")
    expect(page.get_by_role("main")).to_contain_text("round 1 of meanwhile, counted")
    # The federation has ended with its round, which the phone may learn by telling a profile.
    phone.complaints[:] = [one for one in phone.complaints if "[transfer.not_a_member]" not in one]
