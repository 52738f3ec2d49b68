"""Every task of an operator can be done, by mouse and by keyboard alone, with few presses."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext

from coterie.config.settings import CONSOLE_PAGE
from tests.console.browser import person, settle, sign_in
from tests.console.hands import Hand, Keyboard, Mouse
from tests.console.seeded import ADMINISTRATOR, SeededFleet, seeded_fleet
from tests.console.tasks import MOST_PRESSES, TASKS, Scene, Task

pytestmark = pytest.mark.console
DEVICES = 60
PAIRS: dict[type[Hand], str] = {Mouse: "Handwritten digits", Keyboard: "Shelf gaps"}
"""Of which each hand tries a version: one at a time goes to a canary group."""


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
        page.close()
        yield context


@pytest.mark.parametrize("hand", [Mouse, Keyboard])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_it_is_done(
    task: Task, hand: type[Hand], window: BrowserContext, fleet: SeededFleet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("models") / "model.pt2"
    program.write_bytes(b"what the pre-flight refuses")
    page = window.new_page()
    page.goto("/")
    settle(page)
    worker = hand(page)
    task.do(Scene(worker, fleet, program, PAIRS[hand]))
    page.close()
    assert worker.presses == task.presses


def test_no_task_takes_many_presses() -> None:
    assert len(TASKS) == 24
    assert max(task.presses for task in TASKS) <= MOST_PRESSES
