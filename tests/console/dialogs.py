"""What the console opens over a page, on a seeded platform: to be looked at (`make screenshots`)."""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from playwright.sync_api import Page, Route

from tests.console.pages import Keys

NO_ROWS = {"count": 0, "next": None, "previous": None, "results": []}


class Dialog(NamedTuple):
    """One, and what is pressed for it."""

    address: str
    """Of the page, with the names of `Keys` in braces."""
    open: Callable[[Page], None]
    prepare: Callable[[Page], None] = lambda _page: None
    """Before the page is opened."""

    def at(self, keys: Keys) -> str:
        """The page's address on this platform."""
        return self.address.format(**keys._asdict())


def press(name: str) -> Callable[[Page], None]:
    """A button, which opens it."""
    return lambda page: page.get_by_role("button", name=name, exact=True).first.click()


def _try_in_phases(page: Page) -> None:
    """Of a version of which no roll-out is under way."""
    press("Try it first")(page)
    add = page.get_by_role("dialog").get_by_role("button", name=re.compile("^Add "))
    add.click()
    add.click()
    shares = page.get_by_role("dialog").get_by_label("share", exact=True)
    shares.nth(1).fill("0.5")
    shares.nth(2).fill("0.4")


def _read_a_log(page: Page) -> None:
    page.get_by_role("table", name="Requests for its log").get_by_role("button").first.click()


def _without(path: str) -> Callable[[Page], None]:
    """Of what is listed there are no rows."""
    return lambda page: page.route(re.compile(path), lambda route: route.fulfill(json=NO_ROWS))


def _changed(path: str, **values: object) -> Callable[[Page], None]:
    """What is answered there has these values."""

    def change(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps({**answer.json(), **values}))

    return lambda page: page.route(re.compile(path), change)


def _askable(page: Page) -> None:
    """The device sends its log, and nobody has asked for it."""
    _without(r"/api/device-logs/\?")(page)
    _changed(r"/sends-log/", reason_code="", reason_sentence="")(page)


QUARANTINE = _changed(
    r"/api/devices/[0-9a-f-]{36}/$", quarantine="merges left out 3 of its updates", paused_at="2026-01-01T00:00:00Z"
)
DIALOGS: Mapping[str, Dialog] = {
    "ask-for-log": Dialog("/devices/{device}", press("Ask for its log"), _askable),
    "log": Dialog("/devices/{device}", _read_a_log),
    "release-from-quarantine": Dialog("/devices/{device}", press("Release"), QUARANTINE),
    "try-in-phases": Dialog("/models/{pair}?version={second}", _try_in_phases, _without(r"/api/rollouts/\?")),
    "bootstrap": Dialog("/models/{pair}", press("Bootstrap"), _changed(r"/graph/", versions=[], count=0)),
    "evaluate": Dialog("/models/{pair}?version={second}", press("Evaluate on devices")),
    "quantise": Dialog("/models/{pair}?version={second}", press("Quantise")),
    "try-plan": Dialog("/federations/{federation}?tab=plan", press("Try this plan")),
    "forget": Dialog("/devices/{device}", press("Forget")),
}
