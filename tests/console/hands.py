"""How a person works the console, with a mouse or without one; what is pressed is counted."""

from abc import ABC, abstractmethod

import pytest
from playwright.sync_api import FileChooser, Locator, Page, expect

from tests.console.browser import settle

MOST_STOPS = 400


def tab_to(page: Page, control: Locator) -> None:
    """From wherever the keyboard is, onward, as often as it takes."""
    expect(control).to_be_visible()
    for _ in range(MOST_STOPS):
        if _is_focused(control):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not come to {control}")


def _is_focused(control: Locator) -> bool:
    focused: bool = control.evaluate("element => element === document.activeElement")
    return focused


class Hand(ABC):
    """Who works at a page. What is typed is not counted, nor is going to the field."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.presses = 0

    def press(self, control: Locator) -> None:
        """A link, a button, a tab or an option."""
        self.presses += 1
        self._press(control)

    def choose(self, field: Locator, option: Locator) -> None:
        """Open a field's list and take one of it."""
        self.presses += 2
        expect(field).to_be_visible()
        settle(self.page)  # what comes above the field pushes it, and out of view its list is hidden
        self._choose(field, option)

    def give_file(self, button: Locator, path: str) -> None:
        """Choose a file; what the system's own window asks for is not counted."""
        with self.page.expect_file_chooser() as chooser:
            self.press(button)
        asked: FileChooser = chooser.value
        asked.set_files(path)

    @abstractmethod
    def point(self, control: Locator) -> None:
        """Come to a control and leave it as it is: the page then says more about it."""

    @abstractmethod
    def type(self, field: Locator, text: str) -> None:
        """Replace what stands in a field."""

    @abstractmethod
    def _press(self, control: Locator) -> None: ...

    @abstractmethod
    def _choose(self, field: Locator, option: Locator) -> None: ...


class Mouse(Hand):
    """Clicks."""

    def point(self, control: Locator) -> None:
        control.hover()

    def type(self, field: Locator, text: str) -> None:
        field.fill(text)

    def _press(self, control: Locator) -> None:
        control.click()

    def _choose(self, field: Locator, option: Locator) -> None:
        # Of a field with several values that shows nothing yet, the box around it lies over it.
        field.click(force=not field.get_attribute("placeholder"))
        option.click()


class Keyboard(Hand):
    """Tab comes to a control, Enter presses it; within tabs and lists arrows lead on."""

    def point(self, control: Locator) -> None:
        tab_to(self.page, control)

    def type(self, field: Locator, text: str) -> None:
        tab_to(self.page, field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def _press(self, control: Locator) -> None:
        expect(control).to_be_visible()
        if control.get_attribute("role") == "tab":
            tab_to(self.page, self.page.get_by_role("tab", selected=True).first)
            self._arrow(control, "ArrowRight")
        else:
            tab_to(self.page, control)
        self.page.keyboard.press("Enter")

    def _arrow(self, control: Locator, key: str) -> None:
        for _ in range(MOST_STOPS):
            if _is_focused(control):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"no arrow leads to {control}")

    def _choose(self, field: Locator, option: Locator) -> None:
        tab_to(self.page, field)
        self.page.keyboard.press("ArrowDown")
        expect(option).to_be_visible()
        for _ in range(MOST_STOPS):
            if option.get_attribute("data-combobox-selected") is not None:
                break
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Escape")


HANDS = (Mouse, pytest.param(Keyboard, marks=pytest.mark.long))
"""By which a task is done: `make test-long` tries the keyboard, which takes twice as long."""
