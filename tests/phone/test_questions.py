"""A phone that is asked about itself is counted in a sum with agents, as its owner lets it, and nowhere else."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import SAMPLES, device_named
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent
from tests.system.test_questions import AGREES, CLASSES, RESTS, TERMS

pytestmark = [pytest.mark.phone, pytest.mark.long]


def test_a_phone_is_counted_with_two_agents_once_its_owner_agrees(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("questions", pair=next(world.pairs), plan=RESTS)
    phone = phones("questions")
    page = phone.join(operator.enrolment_token(tag="questions"))
    its, theirs = samples(SAMPLES, seed=41), samples(20, seed=42)
    phone.add_samples(tmp_path, *its)
    for number in (1, 2):
        agents(f"asked-{number}", operator.enrolment_token(tag="questions"), learns=theirs, settings=AGREES)

    def ask() -> Json:
        body = {"federation": federation, "content": {"count": CLASSES, **TERMS}, "epsilon": None}
        found: Json = operator.http.post("/analytics/", json={**body, "devices": 3, "within_s": 45}).json()
        return found

    def both_agree() -> Json | None:
        answer = ask()
        return answer if answer.get("fields", {}).get("able") == 2 else None

    refused = eventually(both_agree)
    assert refused["code"] == "analytics.too_few_devices", "the phone's owner has agreed to nothing yet"
    counted = page.locator("#counted")
    expect(counted).to_contain_text("It was asked nothing yet.")
    counted.get_by_label("how many samples of each class it has").check()
    expect(counted.get_by_label("how many samples of each class it has")).to_be_checked()
    counted.get_by_label("also where the sum has no noise").check()
    expect(counted.get_by_label("also where the sum has no noise")).to_be_checked()
    counted.get_by_label("Devices that are summed, at least").fill("3")
    counted.get_by_label("Devices that are summed, at least").press("Tab")
    question = eventually(lambda: ((found := ask()).get("state") == "open" and found) or None)

    def ended() -> Json | None:
        found: Json = operator.get(f"/analytics/{question['id']}/")
        return found if found["state"] not in ("open", "summing") else None

    answer = eventually(ended, within_s=120)
    assert answer["state"] == "answered", answer["reason_sentence"]
    everybody = np.bincount(its[1], minlength=10) + 2 * np.bincount(theirs[1], minlength=10)
    assert (answer["devices"], answer["counts"]) == (3, everybody.tolist())
    expect(counted).to_contain_text("questions, counted: the device is counted in a sum, in which nobody can read it")
    receipts = page.locator("#receipts")
    for sent in ("join-sum", "share-secrets", "masked-update", "reveal-shares"):
        expect(receipts).to_contain_text(sent)
    assert device_named(world, "questions")["capabilities"]["answers"]["subjects"] == ["classes"]
    assert not (found := faults_everywhere(page)), "\n".join(found)
    operator.post(f"/federations/{federation}/finish/")
