"""An alliance of two devices is begun and stopped, by mouse and by keyboard alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.console.browser import person, settle, sign_in
from tests.console.hands import Hand, Keyboard, Mouse
from tests.console.seeded import ADMINISTRATOR, SeededFleet
from tests.console.tasks import Scene

pytestmark = pytest.mark.console


@pytest.fixture(scope="module")
def window(chromium: Browser, seeded: SeededFleet) -> Iterator[BrowserContext]:
    """One in which the administrator is signed in."""
    with person(chromium, seeded.url) as context:
        page = context.new_page()
        sign_in(page, "/", name=ADMINISTRATOR, password=seeded.password)
        settle(page)
        page.close()
        yield context


@pytest.fixture(params=[Mouse, Keyboard], ids=lambda hand: hand.__name__)
def scene(request: pytest.FixtureRequest, window: BrowserContext, seeded: SeededFleet) -> Iterator[Scene]:
    """A hand at the overview."""
    page = window.new_page()
    page.goto("/")
    settle(page)
    hand: Hand = request.param(page)
    yield Scene(hand, seeded, Path(), "")
    page.close()


def choose(scene: Scene, field: str, option: str) -> None:
    scene.hand.choose(scene.field(field), scene.page.get_by_role("option", name=option, exact=True))


def test_it_is_begun_says_what_owners_type_and_is_stopped(scene: Scene) -> None:
    one, other = (device["name"] for device in scene.listed("devices/?page_size=2"))
    scene.go("Alliances")
    scene.hand.press(scene.page.get_by_role("link", name="Begin an alliance"))
    expect(scene.button("Begin")).to_have_attribute("aria-disabled", "true")
    name = scene.named("Claims")
    scene.hand.type(scene.page.get_by_label("Name", exact=True), name)
    choose(scene, "Device with columns alone", one)
    choose(scene, "Its half, the lower one", "Claims, lower half")
    choose(scene, "Device that has the labels, too", one)
    expect(scene.page.get_by_role("main")).to_contain_text("An alliance is of two devices; choose another one.")
    choose(scene, "Device that has the labels, too", other)
    choose(scene, "Its half, the upper one", "Claims, upper half")
    scene.hand.type(scene.page.get_by_label("Noise on gradients"), "0")
    expect(scene.page.get_by_role("main")).to_contain_text("None: gradients travel as they are.")
    scene.press("Begin")
    expect(scene.page.get_by_role("heading", level=1, name=name)).to_be_visible()
    labels = scene.sees("The party with the labels")
    expect(labels).to_contain_text("coterie-agent ally")
    expect(labels).to_contain_text("--label COLUMN")
    expect(scene.sees("The party with columns alone")).to_contain_text("It never sees")
    scene.press_and_confirm("Stop")
    expect(scene.page.get_by_role("main")).to_contain_text("an operator stopped it")
    expect(scene.button("Stop")).to_have_count(0)
    (row,) = [row for row in scene.listed("alliances/?page_size=500") if row["name"] == name]
    assert row["state"] == "cancelled"


def test_a_class_of_devices_is_looked_at_over_time(scene: Scene) -> None:
    scene.go("Models")
    scene.open("Model pairs", "Handwritten digits")
    speeds = scene.sees("Speed over time")
    before = drawn(scene.page)
    choose(scene, "Figure", "99% within")
    choose(scene, "What", "Train steps")
    expect(speeds.get_by_role("slider")).to_have_attribute("aria-label", "Train steps by day, 99% within")
    assert drawn(scene.page) != before
    assert "p99_s" in scene.page.url, "everybody with the link sees the same"
    scene.page.reload()
    expect(speeds.get_by_role("slider")).to_have_attribute("aria-label", "Train steps by day, 99% within")


def drawn(page: Page) -> str | None:
    """What the chart of speeds says of itself in words."""
    slider = page.get_by_role("region", name="Speed over time").get_by_role("slider")
    expect(slider).to_be_visible()
    return slider.get_attribute("aria-valuetext")
