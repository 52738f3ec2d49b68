"""Phones in private plans: noise of their own with an account of it, and sums in which nobody can read an update."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import OF_ONE, SAMPLES, device_named
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent

pytestmark = pytest.mark.phone
NOISY: Json = {**OF_ONE, "privacy": {"kind": "local_noise", "norm": 1.0, "noise_multiplier": 1.0}}
"""Each update tells epsilon 4.89 at delta 1e-6."""

PROMISES: Json = {"min_devices": 3, "norm": 5.0, "corrupted": 0.0, "dropped": 0.25, "step_s": 20}
SUMMED: Json = {
    **OF_ONE,
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "pace": {**OF_ONE["pace"], "target_updates": 3, "min_updates": 3, "deadline_s": 120},
}


@pytest.mark.parametrize(
    "privacy",
    [
        {"kind": "secure_aggregation", **PROMISES},
        pytest.param({"kind": "distributed_noise", "noise_multiplier": 4.0, **PROMISES}, marks=pytest.mark.long),
    ],
    ids=lambda privacy: privacy["kind"],
)
def test_a_phone_is_summed_with_two_agents_and_no_figure_of_it_is_readable(
    privacy: Json, world: World, phones: NewPhone, agents: Callable[[str, str], RealAgent], tmp_path: Path
) -> None:
    operator, name = world.operator, privacy["kind"].replace("_", "-")
    plan = {**SUMMED, "privacy": privacy}
    federation = operator.start_federation(name, pair=next(world.pairs), plan=plan, rounds_wanted=2)
    two = [agents(f"{name}-{number}", operator.enrolment_token(tag=name)) for number in (1, 2)]
    phone = phones(name)
    page = phone.join(operator.enrolment_token(tag=name))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=32))
    rounds = [operator.ended_round(federation, number, within_s=150) for number in (1, 2)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * 2
    its = device_named(world, name)
    for device in (its["id"], *(one.id for one in two)):
        known = operator.get(f"/devices/{device}/")
        assert known["metadata"] == {}, "neither samples nor classes, before its first round either"
        assert "train_step_s" not in known["capabilities"]
    for round_ in rounds:
        assert {part["device"] for part in round_["assignments"]} == {*(one.id for one in two), its["id"]}
        assert round_["updates"] == 3
        assert [part["delivered"] for part in round_["assignments"]] == [None] * 3
    counted = f"round 2 of {name}, counted: the update is in a secure sum, in which nobody can read it"
    expect(page.get_by_role("main")).to_contain_text(f"{counted}; covered by {privacy['kind'].replace('_', ' ')}")
    receipts = page.locator("#receipts")
    for sent in ("read-log", "join-sum", "share-secrets", "offer-masked", "masked-update", "reveal-shares"):
        expect(receipts).to_contain_text(sent)
    expect(receipts).not_to_contain_text("offer-update")
    told = page.locator("#told")
    expect(told).to_contain_text("Told under" if "noise_multiplier" in privacy else "Nothing was told under noise yet")
    known = operator.get(f"/devices/{its['id']}/export/")["sections"]["receipts"]
    assert {one["privacy"] for one in known} == {privacy["kind"]}


def test_a_phone_adds_noise_and_tells_no_more_than_its_owner_allows(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("noisy", pair=next(world.pairs), plan=NOISY, rounds_wanted=2)
    phone = phones("noisy")
    page = phone.join(operator.enrolment_token(tag="noisy"))
    told = page.locator("#told")
    expect(told).to_contain_text("Nothing was told under noise yet, of epsilon 8 that you allow in all")
    told.get_by_label("Epsilon that you allow in all").fill("6")
    told.get_by_label("Epsilon that you allow in all").press("Tab")
    expect(told).to_contain_text("of epsilon 6 that you allow in all")
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=31))
    assert operator.ended_round(federation, 1, within_s=120)["state"] == "published"
    expect(told).to_contain_text("Told under noise, by its own account: epsilon 4.89 of 6")
    expect(page.get_by_role("main")).to_contain_text("covered by local noise")
    refusal = "were told before, and its owner allows 6 in all"
    expect(page.locator("#now")).to_contain_text(refusal, timeout=60_000)
    reasons = eventually(
        lambda: [
            part["reason_sentence"]
            for part in (operator.round(federation, 2) or {"assignments": []})["assignments"]
            if part["reason_sentence"]
        ]
    )
    assert refusal in reasons[0]
    assert "local_noise" in device_named(world, "noisy")["capabilities"]["kinds"]["privacy"]
    assert not (found := faults_everywhere(page)), "\n".join(found)
    assert phone.complaints, "the browser's console says so, too"
    assert all(refusal in complaint for complaint in phone.complaints)
    phone.complaints.clear()
    operator.post(f"/federations/{federation}/finish/")


def test_two_quick_choices_of_the_owner_are_both_kept(world: World, phones: NewPhone) -> None:
    phone = phones("quick")
    page = phone.join(world.operator.enrolment_token())
    told = page.locator("#told")
    expect(told).to_contain_text("of epsilon 8 that you allow in all")
    # Before the page is drawn with the first: nothing is awaited in between.
    told.evaluate("""part => {
        const allowed = part.querySelector("#allowed");
        allowed.value = "5";
        allowed.dispatchEvent(new Event("change"));
        [...part.querySelectorAll("button")].at(-1).click();
    }""")
    expect(told.get_by_role("button")).to_have_text("Do not ask me when one may tell more")
    expect(told).to_contain_text("of epsilon 5 that you allow in all")
