"""What people do with the table of devices: how soon the page answers the input, and how soon it shows what was asked.

*Interaction to next paint* is Event Timing's: from the input to the first frame after all of its handlers, for the
slowest event of the interaction, in steps of 8 ms and at least 16. It says whether the page hangs, not whether the rows
are there: that is *shown*, from the last key or click to the paint of the new rows, with the platform's answer and, for
the search, with the quarter of a second in which one may type on.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from playwright.sync_api import Page

from tests.benchmarks.console.visitor import Visitor
from tests.benchmarks.report import Figure

TIMES = 7
LONGEST_MS = 100
LEAST_TOLD_MS = 16
ROWS = "table[aria-label='Devices']"
WHICH = "(table) => [...table.querySelectorAll('tbody tr')].map((row) => row.querySelector('a')?.href).join()"
CHOSEN = "(table) => table.querySelectorAll('tbody tr[data-chosen]').length"
TYPING_MS = 60
"""Between two keys."""


def _search(text: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_label("Name or id").press_sequentially(text, delay=TYPING_MS)


def _sort(column: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("columnheader", name=column).get_by_role("button").click()


def _press(button: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=button, exact=True).click()


def _choose(within: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f"{ROWS} {within} input[type=checkbox]").first.click()


def _filter(page: Page) -> None:
    page.get_by_role("combobox", name="How they stand").click()
    page.get_by_role("option", name="waiting for their conditions").click()


class Task(NamedTuple):
    """Something that a person does, and by what one sees that it is done."""

    do: Callable[[Page], None]
    told: str = WHICH


TASKS: Mapping[str, Task] = {
    "search for a name": Task(_search("turin-09")),
    "search for what is not there": Task(_search("nowhere")),
    "filter by state": Task(_filter),
    "sort by train step": Task(_sort("Train step")),
    "sort by last seen": Task(_sort("Seen")),
    "next page": Task(_press("next page")),
    "last page": Task(_press("2000")),
    "choose a row": Task(_choose("tbody"), CHOSEN),
    "choose the whole page": Task(_choose("thead"), CHOSEN),
}


class Timing(NamedTuple):
    """In milliseconds."""

    interaction: float
    shown: float
    answer: float
    """Of the REST API, as the browser waited for it; 0: nothing was asked."""


def interaction_figures(visitor: Visitor) -> Iterator[Figure]:
    """Each task on a page of its own, several times."""
    for case, task in TASKS.items():
        timings = [_timed(visitor, task) for _ in range(TIMES)]
        slowest = [max(timing.interaction, LEAST_TOLD_MS) for timing in timings]
        for metric, value in ((f"median of {TIMES}", statistics.median(slowest)), ("worst", max(slowest))):
            yield Figure(
                case,
                f"interaction to next paint, {metric}",
                value,
                "ms",
                against=f"target <= {LONGEST_MS} ms",
                ratio=LONGEST_MS / value,
            )
        shown = [timing.shown for timing in timings]
        yield Figure(case, f"shown, median of {TIMES}", statistics.median(shown), "ms")
        yield Figure(case, "shown, worst", max(shown), "ms")
        answers = [timing.answer for timing in timings if timing.answer]
        if answers:
            yield Figure(case, "the platform's answer, median", statistics.median(answers), "ms")


def _timed(visitor: Visitor, task: Task) -> Timing:
    with visitor.new_page() as page:
        page.goto("/devices")
        page.locator(f"{ROWS} tbody tr a").first.wait_for()
        page.wait_for_load_state("networkidle")
        page.evaluate(f"watch.arm({ROWS!r}, {task.told})")
        task.do(page)
        return Timing(*page.evaluate("watch.changed()"))
