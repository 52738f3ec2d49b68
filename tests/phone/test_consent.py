"""A plan that asks more than its owner has agreed to waits for his word; what he agreed to is kept as he read it."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import OF_ONE, SAMPLES, device_named
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json

pytestmark = pytest.mark.phone
PLAN: Json = {**OF_ONE, "pace": {**OF_ONE["pace"], "deadline_s": 20}}
READABLE = "The platform can read what your device learned, though not your data."


def test_an_owner_who_was_told_of_no_plan_is_asked_when_there_is_one(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    phone = phones("agreeing")
    page = phone.join(operator.enrolment_token(tag="later"))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=4))
    asked = page.locator("#asked")
    gone = operator.start_federation("gone", pair=next(world.pairs), plan=PLAN, device_tag="later")
    expect(asked.get_by_role("heading")).to_have_text("gone asks more than you have agreed to", timeout=60_000)
    operator.post(f"/federations/{gone}/finish/")
    expect(asked).to_be_hidden(timeout=60_000)  # one that has ended asks nothing any more
    federation = operator.start_federation("later", pair=next(world.pairs), plan=PLAN)
    expect(asked.get_by_role("heading")).to_have_text("later asks more than you have agreed to", timeout=60_000)
    expect(asked.get_by_role("listitem")).to_have_text([READABLE])
    expect(page.locator("#now")).to_contain_text("later asks more than you have agreed to")
    expect(page.get_by_role("main")).to_contain_text("of later, given back")
    assert not (found := faults_everywhere(page)), "\n".join(found)
    device = device_named(world, "agreeing")["id"]
    given_back = eventually(
        lambda: [
            part["reason_code"]
            for round_ in operator.list("/rounds/", federation=federation)
            for part in operator.get(f"/rounds/{round_['id']}/")["assignments"]
            if part["device"] == device and part["state"] == "released"
        ]
    )
    assert set(given_back) == {"owner.not_agreed"}
    page.reload()
    asked.get_by_role("button", name="Agree").click()
    expect(asked).to_be_hidden()
    expect(page.get_by_role("main")).to_contain_text("of later, counted", timeout=120_000)
    operator.post(f"/federations/{federation}/finish/")
    newest, first = page.locator("#agreed details").all()
    newest.locator("summary").click()
    expect(newest.locator("pre")).to_contain_text(READABLE)
    first.locator("summary").click()
    expect(first.locator("pre")).to_contain_text("Nothing yet")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export all that is known of it").click()
    editions = json.loads(Path(saved.value.path()).read_text())["agreed"]
    assert [one["scopes"] for one in editions] == [[], ["readable"]]
    phone.complaints.clear()  # the page writes to the console what it gives back


def test_an_owner_takes_a_federation_and_a_source_back_and_gives_them_again(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    operator = world.operator
    phone = phones("taking-back")
    page = phone.join(operator.enrolment_token(tag="partly"))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=5))
    federation = operator.start_federation("partly", pair=next(world.pairs), plan=PLAN, device_tag="partly")
    page.locator("#asked").get_by_role("button", name="Agree").click(timeout=60_000)
    agreed = page.locator("#agreed")
    agreed.get_by_role("button", name="Take back: Your device takes part in partly.").click()
    expect(page.locator("#now")).to_contain_text("You have taken back: Your device takes part in partly.")
    device = device_named(world, "taking-back")["id"]
    eventually(
        lambda: (
            "rounds.taken_back" in [one["code"] for one in operator.get(f"/devices/{device}/why/")["reasons"]] or None
        )
    )
    assert not (found := faults_everywhere(page)), "\n".join(found)
    agreed.get_by_role("button", name="Give again: Your device takes part in partly.").click()
    expect(page.get_by_role("main")).to_contain_text("of partly, counted", timeout=120_000)
    operator.post(f"/federations/{federation}/finish/")
    agreed.get_by_role("button", name="Take back: Samples of files that you add are learned from.").click()
    expect(page.get_by_role("main")).to_contain_text("You have taken back: Samples of files")
    page.reload()
    expect(agreed.get_by_role("button", name="Give again: Samples of files")).to_be_visible()
    newest = agreed.locator("details").first
    newest.locator("summary").click()
    expect(newest.locator("pre")).to_contain_text("You have taken this back")
    phone.complaints.clear()  # the page writes to the console what it gives back
