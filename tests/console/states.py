"""A platform that is slow, broken, empty or gone, as a page of the console meets it: its requests are intercepted."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from playwright.sync_api import Page, Route, WebSocketRoute

API = re.compile(r"/api/")
PARTS = re.compile(r"/api/(?!session/)(?![a-z-]+/[^/]+/(why/)?(\?|$))")
"""Whatever fills the parts of a page, but not the row that it is about."""
SETTLED = re.compile(r"/api/(session|plan-schema|presets)/")
"""What every platform has, however new."""
SOCKET = re.compile(r"/console/v1/socket")
# In the page: a route that is never answered would leave Playwright waiting.
SILENCE = """{
  const which = new RegExp(WHICH), ask = window.fetch;
  window.fetch = (asked, how) => which.test(asked.url ?? asked) ? new Promise(() => {}) : ask(asked, how);
}"""
PROBLEM = {"code": "internal", "detail": "The platform failed at this. Its log says how.", "fields": {}}


def stall(page: Page, which: re.Pattern[str] = API) -> None:
    """Requests are never answered; call it before the page is opened."""
    page.add_init_script(SILENCE.replace("WHICH", json.dumps(which.pattern)))


def refuse(page: Page, which: re.Pattern[str] = API) -> None:
    """Requests are answered with 500."""
    page.route(which, lambda route: route.fulfill(status=500, json=PROBLEM, content_type="application/problem+json"))


def empty(page: Page) -> None:
    """There are no rows of anything."""
    page.route(API, _without_rows)


def cut_off(page: Page) -> Callable[[], None]:
    """Call it before the page is opened; what it returns takes the platform away."""
    lines: list[WebSocketRoute] = []
    gone = False

    def connect(line: WebSocketRoute) -> None:
        if gone:
            line.close()
        else:
            line.connect_to_server()
            lines.append(line)

    def cut() -> None:
        nonlocal gone
        gone = True
        page.route(API, lambda route: route.abort())
        for line in lines:
            line.close()

    page.route_web_socket(SOCKET, connect)
    return cut


STATES: Mapping[str, Callable[[Page], None]] = {"loading": stall, "error": refuse, "empty": empty}
"""Those that a page is in from the start."""


def _without_rows(route: Route) -> None:
    if route.request.method != "GET" or SETTLED.search(route.request.url):
        route.fallback()
        return
    answer = route.fetch()
    # Any: whatever JSON the REST API answers.
    body: Any = answer.json()
    route.fulfill(response=answer, json=_emptied(body))


def _emptied(body: Any) -> Any:
    if isinstance(body, list):
        return []
    return {name: [] if isinstance(value, list) else 0 if name == "count" else value for name, value in body.items()}
