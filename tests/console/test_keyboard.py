"""Everything works without a mouse: the Tab key comes to every control, and tells there what a pointer is told."""

from collections.abc import Iterable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import settle
from tests.console.conftest import Join, Visit, World
from tests.console.hands import MOST_STOPS, tab_to
from tests.console.pages import PAGES, TRIED
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.system.real_agent import RealAgent

pytestmark = pytest.mark.console
DEVICE = "library"
CONTROLS = """() => {
  const controls = "a[href], button, input, select, textarea, summary, [role=button], [role=tab], [tabindex='0']";
  const field = (element) => element.closest(".mantine-InputWrapper-root")?.querySelector("input");
  const within = (element) => element.closest(controls) ?? element.closest("label")?.control ?? field(element);
  const pressed = (element) =>
    getComputedStyle(element).cursor === "pointer" && !element.matches("svg *, canvas") &&
    !within(element) && !element.querySelector(controls);
  const chosen = (name) => document.querySelector(`[name="${name}"]:checked`);
  // Of a group one is stopped at, and arrows lead on.
  const led = (element) =>
    (element.matches("[role=tab], [type=radio], [role=grid] *") && element.tabIndex < 0) ||
    (element.type === "radio" && !element.checked && chosen(element.name));
  let count = 0;
  for (const element of document.querySelectorAll("body *")) {
    const shown = element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    if (!shown || element.closest("[inert], [aria-hidden=true]") || element.disabled || led(element)) continue;
    if (element.matches(controls) || pressed(element)) element.dataset.control = count++;
  }
  window.stops = [];
  document.addEventListener("focusin", ({ target }) => window.stops.push(target.dataset.control));
  return count;
}"""
LEFT_OUT = """[...document.querySelectorAll("[data-control]")]
  .filter((element) => !window.stops.includes(element.dataset.control))
  .map((element) => element.outerHTML.slice(0, 160))"""


@pytest.fixture(scope="module")
def device(world: World, agents: Join) -> RealAgent:
    """A device of the fleet."""
    return agents(DEVICE, world.operator.enrolment_token())


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(TRIED, id="tried"),
        pytest.param([name for name in PAGES if name not in TRIED], id="others", marks=pytest.mark.long),
    ],
)
def test_tab_comes_to_every_control_of_every_page(visit: Visit, seeded: SeededFleet, names: Iterable[str]) -> None:
    page = visit("/", at=seeded.url, name=ADMINISTRATOR, password=seeded.password)
    missed: list[str] = []
    for name in names:
        page.goto(PAGES[name].at(seeded.keys))
        settle(page)
        count = page.evaluate(CONTROLS)
        assert 10 < count < MOST_STOPS, f"{name} has {count} controls"
        for _ in range(count + 20):
            page.keyboard.press("Tab")
        missed += [f"{name}: {element}" for element in page.evaluate(LEFT_OUT)]
    assert not missed, "\n".join(missed)


@pytest.mark.usefixtures("device")
def test_a_device_is_paused_and_let_alone_without_a_mouse(visit: Visit) -> None:
    page = visit("/")
    settle(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    enter(page, page.get_by_role("navigation").get_by_role("link", name="Devices", exact=True))
    enter(page, page.get_by_role("link", name=DEVICE, exact=True))
    enter(page, page.get_by_role("button", name="Pause", exact=True))
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    enter(page, page.get_by_role("button", name="Resume", exact=True))
    enter(page, page.get_by_role("button", name="Revoke", exact=True))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Revoke", exact=True)).to_be_focused()


def test_why_an_action_cannot_be_done_is_told_to_the_keyboard(visit: Visit, device: RealAgent) -> None:
    page = visit(f"/devices/{device.id}", name="vera")
    settle(page)
    tab_to(page, page.get_by_role("button", name="Revoke", exact=True))
    expect(page.get_by_role("tooltip").last).to_contain_text("needs the role operator; yours is viewer")


def enter(page: Page, control: Locator) -> None:
    """Go to a control and press it."""
    tab_to(page, control)
    page.keyboard.press("Enter")
