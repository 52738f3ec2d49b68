"""The pages on the phone have no fault that axe finds, narrow and wide, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.axe import faults
from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import OF_ONE, device_named
from tests.system.model import samples

pytestmark = pytest.mark.phone


def faults_everywhere(page: Page) -> list[str]:
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            found += [f"{scheme}, {width} pixels: {fault}" for fault in faults(page)]
    return found


def test_no_page_has_a_fault(world: World, phones: NewPhone, tmp_path: Path) -> None:
    token = world.operator.enrolment_token()
    phone = phones("narrow", tells=False)
    page = phone.open(f"/phone/#join={token}")
    expect(page.get_by_role("button", name="Join")).to_be_visible()
    found = faults_everywhere(page)
    phone.kill()
    page = phone.join(token)
    phone.add_samples(tmp_path, *samples(20, seed=1))
    found += faults_everywhere(page)
    other = phone.open("/phone/")
    expect(other.get_by_role("status")).to_contain_text("Another tab of this browser runs the device")
    found += faults_everywhere(other)
    other.close()
    for name in ("It is on the charger", "It is on Wi-Fi", "Pause for a day"):
        page.get_by_role("button", name=name).click()
    expect(page.locator("#now")).to_contain_text("its owner has paused training")
    page.locator("#receipts summary").first.click()
    found += faults_everywhere(page)
    page.close()
    page = phone.open("/phone/")
    expect(page.get_by_role("heading", name="What left this device")).to_be_visible()
    world.operator.post(f"/devices/{device_named(world, 'narrow')['id']}/revoke/")
    page.reload()
    expect(page.get_by_role("heading", name="narrow does not take part any more")).to_be_visible()
    found += faults_everywhere(page)
    phone.complaints.clear()  # Chromium writes the refusal to the console
    assert not found, "\n".join(found)


def test_what_an_owner_has_opened_typed_and_focused_stays_when_a_part_comes(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    phone = phones("typed")
    page = phone.join(world.operator.enrolment_token(tag="typed"))
    phone.add_samples(tmp_path, *samples(20, seed=1))
    page.locator("#receipts summary").last.click()
    allowed = page.get_by_label("Epsilon that you allow in all")
    allowed.press("ControlOrMeta+a")
    page.keyboard.type("2.5")
    world.operator.start_federation("typed", pair=next(world.pairs), plan=OF_ONE, rounds_wanted=1)
    expect(page.locator("#asked")).to_be_visible(timeout=60_000)
    expect(allowed).to_have_value("2.5")
    expect(allowed).to_be_focused()
    expect(page.locator("#receipts details[open]")).to_have_count(1)
    page.get_by_role("button", name="Pause for a day").press("Enter")
    expect(page.get_by_role("button", name="Go on")).to_be_focused()
    page.get_by_role("button", name="Export all that is known of it").click()
    expect(page.get_by_role("status")).to_be_in_viewport()
    phone.complaints.clear()  # the assignment was given back


def test_what_the_phone_can_do_is_told_once(world: World, phones: NewPhone) -> None:
    phone = phones("terse")
    page = phone.join(world.operator.enrolment_token())
    said = page.locator("#receipts details", has_text="check-in")
    expect(said).not_to_have_count(0)
    for name in ("Pause for a day", "Go on"):
        before = said.count()
        page.get_by_role("button", name=name).click()
        expect(said).not_to_have_count(before)
    told = [one.text_content() or "" for one in said.all()]
    assert ["capabilities" in one for one in told] == [False] * (len(told) - 1) + [True]


def test_a_blank_name_is_refused_in_words(world: World, phones: NewPhone) -> None:
    phone = phones("blank")
    page = phone.open(f"/phone/#join={world.operator.enrolment_token()}")
    name = page.get_by_label("What your device is called there")
    name.fill("  ")
    page.get_by_role("button", name="Join").click()
    assert name.evaluate("field => field.validationMessage") == "Give your device a name."
    name.fill("hall")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("hall")


def lose_answer(route: Route) -> None:
    route.fetch()
    route.abort()


def test_a_phone_whose_answer_was_lost_keeps_the_typed_name_and_joins_once(world: World, phones: NewPhone) -> None:
    phone = phones("away")
    page = phone.open(f"/phone/#join={world.operator.enrolment_token()}")
    page.get_by_label("What your device is called there").fill("landing")
    page.context.route("**/device/v1/enrol", lose_answer)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("status")).to_contain_text("[link.unreachable]")
    expect(page.get_by_role("button", name="Join")).to_be_enabled()
    expect(page.get_by_label("What your device is called there")).to_have_value("landing")
    page.context.unroute("**/device/v1/enrol")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("landing")
    assert device_named(world, "landing")["state"] == "enrolled", "it is there once"
    assert page.evaluate("localStorage.length") == 0
    phone.complaints.clear()  # the request that failed


def test_no_page_that_lets_nobody_join_has_a_fault(phones: NewPhone) -> None:
    phone = phones("nobody")
    page = phone.open("/phone/")
    expect(page.get_by_role("heading", level=1)).to_have_text("This device has not joined")
    found = faults_everywhere(page)
    phone.kill()
    page = phone.open("/phone/#join=coe_guessed")
    expect(page.get_by_role("alert")).to_be_visible()
    found += faults_everywhere(page)
    phone.complaints.clear()  # as above
    assert not found, "\n".join(found)
