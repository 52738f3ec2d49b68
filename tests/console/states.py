"""A platform that is slow, broken, empty or gone, as a page of the console meets it: its requests are intercepted."""

import json
import re
from collections.abc import Callable, Mapping

from playwright.sync_api import Page, WebSocketRoute

API = re.compile(r"/api/")
PARTS = re.compile(r"/api/(?!session/)(?![a-z-]+/[^/]+/(why/)?(\?|$))")
"""Whatever fills the parts of a page, but not the row that it is about."""
ROWS = re.compile(r"/api/(?!(session|plan-schema|presets)/)")
"""Whatever a new platform has none of."""
SOCKET = re.compile(r"/console/v1/socket")
# In the page: Playwright would wait for a route that is never answered, and for one whose page was left meanwhile.
SILENCE = """{
  const which = new RegExp(WHICH), ask = window.fetch;
  const silent = new Promise((end) => { window.endSilence = end; });
  window.fetch = async (asked, how) => {
    if (which.test(asked.url ?? asked)) await silent;
    return ask(asked, how);
  };
}"""
NO_ROWS = """{
  const which = new RegExp(WHICH), ask = window.fetch;
  const none = (name, value) => Array.isArray(value) ? [] : name === "count" ? 0 : value;
  const emptied = (body) => Array.isArray(body) ? [] :
    Object.fromEntries(Object.entries(body).map(([name, value]) => [name, none(name, value)]));
  window.fetch = async (asked, how) => {
    const answer = await ask(asked, how);
    if ((how?.method ?? asked.method ?? "GET") !== "GET" || !which.test(asked.url ?? asked)) return answer;
    return new Response(JSON.stringify(emptied(await answer.json())), answer);
  };
}"""
PROBLEM = {"code": "internal", "detail": "The platform failed at this. Its log says how.", "fields": {}}


def stall(page: Page, which: re.Pattern[str] = API) -> Callable[[], None]:
    """Requests are not answered; call it before the page is opened. What it returns lets them be answered."""
    page.add_init_script(SILENCE.replace("WHICH", json.dumps(which.pattern)))
    return lambda: page.evaluate("window.endSilence()")


def refuse(page: Page, which: re.Pattern[str] = API) -> None:
    """Requests are answered with 500."""
    page.route(which, lambda route: route.fulfill(status=500, json=PROBLEM, content_type="application/problem+json"))


def empty(page: Page) -> None:
    """There are no rows of anything; call it before the page is opened."""
    page.add_init_script(NO_ROWS.replace("WHICH", json.dumps(ROWS.pattern)))


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


STATES: Mapping[str, Callable[[Page], object]] = {"loading": stall, "error": refuse, "empty": empty}
"""Those that a page is in from the start."""
