"""What operators do, from signing in to the audit log, as they do it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Join, Visit, World
from tests.system.real_agent import READY, UNPLUGGED, RealAgent

pytestmark = pytest.mark.console
DEVICE = "kitchen-1"
SAMPLES_WAIT_MS = 60_000


@pytest.fixture(scope="module")
def device(world: World, agents: Join) -> RealAgent:
    """A device of the fleet that rests until it is needed."""
    return agents(DEVICE, world.operator.enrolment_token())


def test_a_link_survives_signing_in(visit: Visit) -> None:
    page = visit("/devices?q=kitchen")
    expect(page.get_by_role("heading", name="Devices")).to_be_visible()
    expect(page.get_by_label("Name or id")).to_have_value("kitchen")


def test_a_device_enrols_with_the_command_that_is_shown(visit: Visit, agents: Join) -> None:
    page = visit("/enrol")
    page.get_by_label("What it is for").fill("hall displays")
    page.get_by_role("button", name="Make a token", exact=True).click()
    shown = page.get_by_role("region", name="hall displays")
    expect(shown.get_by_role("img", name="QR code of the token")).to_be_visible()
    command = shown.locator("pre").inner_text()
    found = re.search(r"coterie-agent join (\S+) (\S+)", command)
    assert found is not None
    page.goto("/devices")
    agents("hall-1", found[2])
    expect(page.get_by_role("link", name="hall-1")).to_be_visible()  # live, without loading the page again


def test_a_device_says_why_it_refuses_and_is_put_right(visit: Visit, device: RealAgent) -> None:
    device.set_conditions(UNPLUGGED)
    page = visit(f"/devices/{device.id}")
    expect(page.get_by_role("region", name="Why it does not train")).to_contain_text("charging")
    device.set_conditions(READY)
    expect(page.get_by_role("region", name="Why it does not train")).not_to_contain_text("charging")


def test_a_federation_is_made_started_and_its_round_watched_to_its_end(
    visit: Visit, device: RealAgent, world: World
) -> None:
    page = visit("/federations/new")
    page.get_by_label("Name", exact=True).fill("Digits")
    _choose(page, "Model pair", "pair 0")
    page.get_by_role("button", name=re.compile("How many are asked")).click()
    page.get_by_label("min updates").fill("1")
    page.get_by_label("target updates").fill("1")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="Digits")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("table", name="Rounds")).to_contain_text("published", timeout=SAMPLES_WAIT_MS)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("table", name="Rounds").get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_role("list", name="What each device did")).to_contain_text("delivered")


def test_a_version_is_rolled_back_and_the_log_tells_who_did_it(visit: Visit, world: World) -> None:
    page = visit(f"/models/{world.pair}")
    newest = page.locator("[data-champion]", has_text="device")
    before = newest.inner_text()
    page.get_by_role("button", name="Roll the devices back", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Roll the devices back").click()
    expect(newest).not_to_have_text(before)
    page.goto("/audit")
    row = page.get_by_role("row", name=re.compile("Use another version"))
    expect(row.first).to_contain_text("ada")
    row.first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("Before")


def test_a_version_is_tried_on_a_device_before_everybody_gets_it(visit: Visit, device: RealAgent, world: World) -> None:
    versions = world.operator.get(f"/versions/?pair={world.pair}&role=device")["results"]
    candidate = next(version for version in versions if not version["champion"])
    page = visit(f"/models/{world.pair}?version={candidate['id']}")
    page.get_by_role("button", name="Try it first", exact=True).click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("reports").fill("1")
    asked.get_by_role("button", name="Try it first").click()
    ended = page.get_by_role("table", name="Roll-outs that have ended")  # live, by what a real device has measured
    expect(ended).to_contain_text(re.compile("promoted|rolled back"), timeout=SAMPLES_WAIT_MS)
    expect(ended).to_contain_text(re.compile(r"error \S+% on the devices. samples against the champion.s"))


def test_a_viewer_sees_everything_and_can_change_nothing(visit: Visit, device: RealAgent, world: World) -> None:
    page = visit(f"/devices/{device.id}", name="vera")
    revoke = page.get_by_role("button", name="Revoke", exact=True)
    expect(revoke).to_have_attribute("aria-disabled", "true")
    revoke.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("needs the role operator; yours is viewer")
    revoke.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    for address, button in (
        ("/enrol", "Make a token"),
        ("/federations/new", "Create"),
        (f"/models/{world.pair}", "Roll the devices back"),
    ):
        page.goto(address)
        expect(page.get_by_role("button", name=button, exact=True)).to_have_attribute("aria-disabled", "true")


def test_every_action_can_be_had_as_a_command(visit: Visit, device: RealAgent) -> None:
    page = visit(f"/devices/{device.id}")
    page.wait_for_load_state("networkidle")  # a menu that opens while the page still fills closes again
    page.get_by_role("button", name="More about “Pause”").click()
    page.get_by_role("menuitem", name="Copy as curl").click()
    expect(page.get_by_role("alert")).to_contain_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert f"/api/devices/{device.id}/pause/" in command
    assert "$COTERIE_TOKEN" in command


def _choose(page: Page, field: str, option: str) -> None:
    page.get_by_role("combobox", name=field).or_(page.get_by_label(field)).first.click()
    page.get_by_role("option", name=option).click()
