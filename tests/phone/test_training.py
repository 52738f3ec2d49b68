"""A browser joins by the link, trains, and its updates count once, whatever happens to its tabs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.axe import faults
from tests.phone.conftest import NewPhone, World
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent

pytestmark = pytest.mark.phone
SAMPLES, MANY = 80, 200
LOCAL_KINDS = [
    "distill",
    "fed_dyn",
    "fed_nova",
    "multitask",
    "per_fedavg",
    "prox",
    "q_fed_avg",
    "random_subset",
    "scaffold",
    "second_order",
    "sgd",
    "shared_body",
]
PLAN: Json = {
    "local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.05},
    "pace": {"kind": "sync", "target_updates": 2, "min_updates": 2, "over_selection": 1, "deadline_s": 120},
}
OF_ONE: Json = {**PLAN, "pace": {**PLAN["pace"], "target_updates": 1, "min_updates": 1}}
LONG: Json = {
    "local": {"kind": "sgd", "epochs": 900, "learning_rate": 0.0005},
    "pace": {**OF_ONE["pace"], "deadline_s": 600},
}
"""On `MANY` samples half a minute of training on a quick machine, minutes on a busy one."""


def delivered(round_: Json) -> list[str]:
    return sorted(part["device"] for part in round_["assignments"] if part["delivered"])


def device_named(world: World, name: str) -> Json:
    (found,) = [device for device in world.operator.list("/devices/") if device["name"] == name]
    return world.operator.get(f"/devices/{found['id']}/")


def test_two_phones_two_agents_and_a_slow_one_publish_versions(
    world: World, phones: NewPhone, agents: Callable[..., RealAgent], tmp_path: Path
) -> None:
    """Each version has an update of all five; the phones' pages say so, as the platform does."""
    operator = world.operator
    pace = {**PLAN["pace"], "target_updates": 5, "min_updates": 5, "deadline_s": 240}
    plan: Json = {**PLAN, "pace": pace}
    federation = operator.start_federation("both", pair=next(world.pairs), plan=plan, rounds_wanted=2)
    token = operator.enrolment_token(tag="both", uses=5)
    others = [agents(name, token) for name in ("kiosk", "sensor")]
    others.append(agents("slow-pi", token, settings="processor_share = 0.05\n"))
    second = phones("second phone")
    second.join(token)
    second.add_samples(tmp_path, *samples(SAMPLES, seed=15))
    phone = phones("phone")
    page = phone.open(f"/phone/#join={token}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("asks your device to learn with others")
    assert page.url.endswith("/phone/"), "the secret does not stay in the address"
    for told in ("both", "class 3", "it is charging, and it is on Wi-Fi", "Your samples never leave"):
        expect(page.get_by_role("main")).to_contain_text(told)
    phone.kill()
    page = phone.join(token)
    assert page.evaluate("crossOriginIsolated")
    expect(page.locator("#now")).to_contain_text("no samples on the device yet")
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=5))
    rounds = [operator.ended_round(federation, number, within_s=240) for number in (1, 2)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * 2
    its = device_named(world, "phone")
    everybody = sorted([*(agent.id for agent in others), its["id"], device_named(world, "second phone")["id"]])
    assert [delivered(round_) for round_ in rounds] == [everybody] * 2
    assert second.page is not None
    for one in (page, second.page):
        expect(one.get_by_role("main")).to_contain_text("round 2 of both, counted")
    offered = page.locator("#receipts details", has_text="offer-update").first
    offered.locator("summary").click()
    expect(offered.locator("pre")).to_contain_text('"samples":')
    assert its["capabilities"]["kinds"]["local"] == LOCAL_KINDS


def test_a_tab_that_is_killed_and_opened_again_counts_once(world: World, phones: NewPhone, tmp_path: Path) -> None:
    operator = world.operator
    federation = operator.start_federation("killed", pair=next(world.pairs), plan=LONG, rounds_wanted=1)
    phone = phones("fragile")
    phone.join(operator.enrolment_token(tag="killed"))
    phone.add_samples(tmp_path, *samples(MANY, seed=6))
    steps: list[int] = []
    for _ in range(2):
        assert phone.page is not None
        heading = phone.page.get_by_role("heading", name=re.compile(r"^Training: step [1-9]"))
        expect(heading).to_be_visible(timeout=60_000)
        phone.page.wait_for_timeout(6000)  # longer than from one checkpoint to the next
        found = re.search(r"step (\d+)", heading.inner_text())
        assert found is not None
        steps.append(int(found[1]))
        phone.kill()
        phone.open()
    assert steps == sorted(steps), "training goes on where it was saved"
    round_ = operator.ended_round(federation, 1, within_s=600)
    assert round_["state"] == "published"
    assert delivered(round_) == [device_named(world, "fragile")["id"]]
    assert phone.page is not None
    expect(phone.page.get_by_role("main")).to_contain_text("round 1 of killed, counted")


def test_training_stops_while_a_condition_is_lost(world: World, phones: NewPhone, tmp_path: Path) -> None:
    operator = world.operator
    operator.start_federation("unplugged", pair=next(world.pairs), plan=LONG, rounds_wanted=1)
    phone = phones("unplugged")
    page = phone.join(operator.enrolment_token(tag="unplugged"))
    phone.add_samples(tmp_path, *samples(MANY, seed=8))
    training = page.get_by_role("heading", name=re.compile(r"^Training: step [1-9]"))
    expect(training).to_be_visible(timeout=60_000)
    phone.set_charging(False)
    expect(page.locator("#now")).to_contain_text("on battery; the plan asks for charging")
    expect(training).to_be_hidden()
    assert "conditions.on_battery" in eventually(
        lambda: [reason["code"] for reason in device_named(world, "unplugged")["reasons"]]
    )
    phone.set_charging(True)
    expect(training).to_be_visible()
    phone.set_network("cellular4g")
    expect(page.locator("#now")).to_contain_text("on a metered network; the plan asks for Wi-Fi or Ethernet")
    phone.set_network("wifi")
    expect(training).to_be_visible()
    other = phone.open()
    expect(other.get_by_role("status")).to_contain_text("Another tab of this browser runs the device")
    other.close()
    expect(training).to_be_visible()


def test_where_the_browser_tells_nothing_the_owner_does(world: World, phones: NewPhone, tmp_path: Path) -> None:
    operator = world.operator
    federation = operator.start_federation("silent", pair=next(world.pairs), plan=OF_ONE, rounds_wanted=1)
    phone = phones("silent", tells=False)
    page = phone.join(operator.enrolment_token(tag="silent"))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=9))
    now = page.locator("#now")
    for reason in ("cannot tell whether it is charging", "cannot tell which network"):
        expect(now).to_contain_text(reason)
    page.get_by_role("button", name="It is on the charger").click()
    expect(now).not_to_contain_text("cannot tell whether it is charging")
    expect(now).to_contain_text("cannot tell which network")
    page.get_by_role("button", name="It is on Wi-Fi").click()
    round_ = operator.ended_round(federation, 1, within_s=120)
    its = device_named(world, "silent")
    assert delivered(round_) == [its["id"]]
    assert its["conditions"]["confirmed"] == ["charging", "network"]
    page.get_by_role("button", name="Pause for a day").click()
    expect(now).to_contain_text("its owner has paused training")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Leave", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This device has not joined")
    assert device_named(world, "silent")["state"] == "left"


def test_an_owner_has_the_phone_forgotten(world: World, phones: NewPhone) -> None:
    phone = phones("shy")
    page = phone.join(world.operator.enrolment_token(tag="shy"))
    its = device_named(world, "shy")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget me").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This device has not joined")
    receipt = world.operator.get(f"/devices/{its['id']}/forgetting/")["forgetting"]
    assert receipt is not None and receipt["device"] == its["id"]
    forgotten = page.locator("#forgotten")
    expect(forgotten).to_contain_text(receipt["receipt"])
    assert faults(page) == []
    eventually(lambda: world.operator.get(f"/devices/{its['id']}/forgetting/")["forgetting"]["done"])
    page.reload()
    expect(forgotten).to_contain_text("Done ")
    expect(forgotten).to_contain_text("None: no plan that it had a part in promises that.")
    expect(forgotten).to_contain_text("None is known.")
    assert world.operator.get(f"/devices/{its['id']}/")["name"] == f"forgotten {its['id'][:8]}"


def test_a_link_that_is_used_or_wrong_says_so(world: World, phones: NewPhone) -> None:
    token = world.operator.enrolment_token()
    first, second = phones("first"), phones("second")
    first.join(token)
    for phone, secret, said in (
        (second, token, "allowed 1 devices and all have joined"),
        (second, "coe_guessed", "No enrolment token"),
    ):
        page = phone.open(f"/phone/#join={secret}")
        expect(page.get_by_role("alert")).to_contain_text(said)
        phone.kill()
    second.complaints.clear()  # Chromium writes each refusal of the platform to the console
