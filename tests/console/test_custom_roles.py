"""A role of one's own, made, given and used by mouse and by keyboard: what it lacks is greyed out, or not offered."""

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.console.browser import person, settle, sign_in
from tests.console.conftest import PASSWORD, Join, Visit, World, choose_password, invite, let_in
from tests.console.hands import Hand, Keyboard, Mouse
from tests.system.real_agent import RealAgent

pytestmark = pytest.mark.console


@pytest.fixture(scope="module")
def device(world: World, agents: Join) -> RealAgent:
    """A device of the fleet."""
    return agents("ward-1", world.operator.enrolment_token())


@pytest.mark.parametrize("hand", [Mouse, Keyboard])
def test_a_role_lets_do_what_is_in_it_and_no_more(
    visit: Visit, chromium: Browser, world: World, device: RealAgent, hand: type[Hand]
) -> None:
    of = hand.__name__.lower()
    chief, cara, role = f"chief-{of}", f"cara-{of}", f"caretaker by {of}"
    let_in(world.operator, chief, role="administrator")
    invited = invite(world.operator, cara, role="")
    _make_and_give(hand(visit("/settings?tab=projects", name=chief)), role=role, to=cara)
    choose_password(world.operator, invited)
    # Not by `visit`: the browser complains when the keyboard comes by the link of a page that she may not see.
    with person(chromium, world.url) as context:
        page = context.new_page()
        sign_in(page, f"/devices/{device.id}", name=cara, password=PASSWORD)
        _use(hand(page))
        _look_around(hand(page))
        (token,) = [cookie["value"] for cookie in context.cookies() if cookie["name"] == "csrftoken"]
        headers = {"X-CSRFToken": token, "Referer": world.url}
        refused = page.request.post(f"{world.url}/api/devices/{device.id}/revoke/", headers=headers)
        assert (refused.status, refused.json()["code"]) == (403, "acting.role_needed")


def _use(hand: Hand) -> None:
    """Do what the role lets do, and be told why the rest cannot be done."""
    page = hand.page
    settle(page)
    hand.press(page.get_by_role("button", name="Pause", exact=True))
    hand.press(page.get_by_role("button", name="Resume", exact=True))
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    revoke = page.get_by_role("button", name="Revoke", exact=True)
    expect(revoke).to_have_attribute("aria-disabled", "true")
    hand.point(revoke)
    expect(page.get_by_role("tooltip").last).to_contain_text("needs the role operator; yours is viewer")


def _look_around(hand: Hand) -> None:
    """Be offered the pages that one may see, and be told what the others need."""
    page = hand.page
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages.get_by_role("link", name="Devices", exact=True)).to_be_visible()
    expect(pages.get_by_role("link", name="Cluster", exact=True)).to_have_count(0)
    for address, lacking in (
        ("/cluster", "needs the role viewer in the whole installation"),
        ("/federations/new", "needs the role operator; yours is viewer"),
    ):
        page.goto(address)
        settle(page)
        refusal = page.get_by_role("main").get_by_role("alert")
        expect(refusal).to_contain_text("You may not see this")
        expect(refusal).to_contain_text(lacking)


def _make_and_give(hand: Hand, *, role: str, to: str) -> None:
    page = hand.page
    settle(page)
    made = page.get_by_role("region", name="Roles of your own")
    hand.type(made.get_by_label("Name of a new role"), role)
    for action in ("Pause a device", "Resume a device, or release it from quarantine"):
        field = _field(made, "What it may do")
        hand.choose(field, page.get_by_role("option", name=action, exact=True))
    hand.press(made.get_by_role("button", name="Make a role", exact=True))
    expect(_field(made, f"What {role} may do")).to_be_visible()
    given = page.get_by_role("region", name="Give a role in a project")
    hand.type(given.get_by_label("Name of the person"), to)
    hand.choose(_field(given, "Role"), page.get_by_role("option", name=role, exact=True))
    hand.choose(_field(given, "Project"), page.get_by_role("option").first)
    hand.press(given.get_by_role("button", name="Give", exact=True))
    row = page.get_by_role("table", name="Roles in projects").get_by_role("row").filter(has_text=to)
    expect(row).to_contain_text(role)


def _field(region: Locator, label: str) -> Locator:
    """One that offers a list."""
    return region.get_by_role("combobox", name=label, exact=True).or_(region.get_by_label(label, exact=True)).first
