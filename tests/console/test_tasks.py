"""Every task of an operator can be done, by mouse and by keyboard alone, with few presses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from coterie.config.settings import CONSOLE_PAGE
from coterie_learning.local import Local
from coterie_learning.local.distill import Distill
from coterie_learning.local.second_order import SecondOrder
from coterie_learning.plan import presets
from tests.console.browser import person, settle, sign_in
from tests.console.hands import HANDS, Hand, Keyboard, Mouse
from tests.console.seeded import ADMINISTRATOR, SeededFleet, seeded_fleet
from tests.console.tasks import (
    MOST_PRESSES,
    TASKS,
    TO_ARCHIVE,
    Scene,
    Task,
    begin_with,
    choose_preset,
    make_one_from,
    try_a_version_in_phases,
)

pytestmark = pytest.mark.console
DEVICES = 60
PAIRS: dict[type[Hand], str] = {Mouse: "Handwritten digits", Keyboard: "Shelf gaps"}
"""Of which each hand tries a version: one at a time goes to a canary group."""

TRIED = ("fedavg", "fltrust", "colla")
"""Presets from which each hand makes a federation: one as it is, one that needs data, one that the form's pair does not
fit. That the keyboard comes to each of many, the component's own test shows."""
FIRST = "fedavg+fine_tuned"
"""That the form begins with."""

UNFIT: dict[type[Local], str] = {
    Distill: "devices cannot learn from the cloud model",
    SecondOrder: "the model has no tables of gradients and curvatures",
}
"""Why the pair that the form offers first, a network without a graph that teaches devices, fits no such plan."""
TAUGHT = "Shelf gaps"
"""The pair whose cloud model devices can learn from."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededFleet]:
    """One of its own: the tasks change it."""
    assert CONSOLE_PAGE.exists(), "build the console first: make console"
    with seeded_fleet(tmp_path_factory.mktemp("tasks") / "state", devices=DEVICES) as found:
        yield found


@pytest.fixture(scope="module")
def window(chromium: Browser, fleet: SeededFleet) -> Iterator[BrowserContext]:
    """One in which the administrator is signed in."""
    with person(chromium, fleet.url) as context:
        page = context.new_page()
        sign_in(page, "/", name=ADMINISTRATOR, password=fleet.password)
        settle(page)
        for hand in PAIRS:
            _draft(context, fleet, f"{TO_ARCHIVE} by {hand.__name__.lower()}")
        page.close()
        yield context


def _draft(context: BrowserContext, fleet: SeededFleet, name: str) -> None:
    """A federation that has never been started."""
    (token,) = [cookie["value"] for cookie in context.cookies() if cookie["name"] == "csrftoken"]
    made = context.request.post(
        f"{fleet.url}/api/federations/",
        data={"name": name, "pair": fleet.keys.pair},
        headers={"X-CSRFToken": token, "Referer": fleet.url},
    )
    assert made.status == 201, made.text()


def opened(window: BrowserContext) -> Page:
    """A page where each task begins."""
    page = window.new_page()
    page.goto("/")
    settle(page)
    return page


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_it_is_done(
    task: Task, hand: type[Hand], window: BrowserContext, fleet: SeededFleet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("models") / "model.pt2"
    program.write_bytes(b"what the pre-flight refuses")
    page = opened(window)
    worker = hand(page)
    task.do(Scene(worker, fleet, program, PAIRS[hand]))
    page.close()
    assert worker.presses == task.presses


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("preset", TRIED)
def test_a_federation_can_be_made_from_a_preset(
    hand: type[Hand], preset: str, window: BrowserContext, fleet: SeededFleet, tmp_path: Path
) -> None:
    page = opened(window)
    scene = Scene(hand(page), fleet, tmp_path, PAIRS[hand])
    refused = why_unfit(preset)
    if refused is not None:
        begin_with(scene, preset, scene.named(f"From {preset}"))
        expect(scene.button("Create")).to_have_attribute("aria-disabled", "true")
        scene.hand.point(scene.button("Create"))
        expect(page.get_by_role("tooltip")).to_contain_text(refused)
    else:
        make_one_from(scene, preset, scene.named(f"From {preset}"))
    page.close()
    assert scene.hand.presses <= MOST_PRESSES


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("preset", ["colla", "colla+cartel"])
def test_a_federation_that_learns_from_a_cloud_model_can_be_made(
    hand: type[Hand], preset: str, window: BrowserContext, fleet: SeededFleet, tmp_path: Path
) -> None:
    page = opened(window)
    scene = Scene(hand(page), fleet, tmp_path, PAIRS[hand])
    name = scene.named(f"Taught by {preset}")
    make_one_from(scene, preset, name, pair=TAUGHT)
    page.close()
    assert scene.hand.presses <= MOST_PRESSES + 2, "two are for the pair"
    (made,) = [row for row in scene.listed("federations/?page_size=500") if row["name"] == name]
    names = {row["id"]: row["name"] for path in ("pairs/", "datasets/") for row in scene.listed(path)}
    assert (names[made["pair"]], names[made["cloud_data"]]) == (TAUGHT, f"{TAUGHT}, collected by hand")


@pytest.mark.parametrize("hand", HANDS)
def test_a_version_is_tried_in_phases_each_with_its_time_and_threshold(
    hand: type[Hand], window: BrowserContext, fleet: SeededFleet, tmp_path: Path
) -> None:
    page = opened(window)
    scene = Scene(hand(page), fleet, tmp_path, PAIRS[hand])
    of_pair = next(f"rollouts/?pair={pair['id']}" for pair in scene.listed("pairs/") if pair["name"] == scene.pair)
    for rollout in scene.listed(f"{of_pair}&active=true"):
        scene.post(f"rollouts/{rollout['id']}/cancel/", {})
    try_a_version_in_phases(scene)
    page.close()
    (begun,) = scene.listed(f"{of_pair}&active=true")
    second = {"share": 0.5, "threshold": 0.01, "within_s": 7200, "hold_s": 3600, "absent_s": None}
    assert begun["terms"]["phases"] == [second]
    assert begun["terms"]["hold_s"] == 0, "of the first share"


def test_the_form_takes_each_preset_or_says_why_not(window: BrowserContext, fleet: SeededFleet, tmp_path: Path) -> None:
    page = window.new_page()
    page.goto("/federations/new")
    settle(page)
    scene = Scene(Mouse(page), fleet, tmp_path, PAIRS[Mouse])
    scene.hand.type(page.get_by_label("Name", exact=True), "From each")
    for preset in sorted(set(presets()) - {FIRST}):
        with page.expect_response(lambda answer: "/plan-check/" in answer.url):
            choose_preset(scene, preset)
        refused = why_unfit(preset)
        if refused is None:
            expect(scene.button("Create"), preset).not_to_have_attribute("aria-disabled", "true")
        else:
            expect(page.get_by_role("main"), preset).to_contain_text(refused)
            expect(scene.button("Create"), preset).to_have_attribute("aria-disabled", "true")
    page.close()


def why_unfit(preset: str) -> str | None:
    """Why the pair that the form offers first fits no such plan; None: it does."""
    local = presets()[preset].local
    return next((why for unfit, why in UNFIT.items() if isinstance(local, unfit)), None)


def test_no_task_takes_many_presses() -> None:
    assert len(TASKS) == 28
    assert max(task.presses for task in TASKS) <= MOST_PRESSES
