"""A person who is signed in and opens pages in a browser that has not seen them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from playwright.sync_api import Browser, Page, StorageState

from tests.console.browser import sign_in
from tests.console.seeded import ADMINISTRATOR

WATCH = Path(__file__).with_name("watch.js")


@dataclass(frozen=True)
class Visitor:
    """Their browser, and the session's cookie."""

    browser: Browser
    url: str
    session: StorageState

    @classmethod
    def sign_in(cls, browser: Browser, url: str, password: str) -> Self:
        """As the administrator of a seeded platform."""
        with browser.new_context(base_url=url) as context:
            page = context.new_page()
            sign_in(page, "/", name=ADMINISTRATOR, password=password)
            page.get_by_role("heading", name="Overview").wait_for()
            return cls(browser, url, context.storage_state())

    @contextmanager
    def new_page(self, **settings: object) -> Iterator[Page]:
        """A page that fetches everything anew, and that `watch.js` watches."""
        with self.browser.new_context(
            base_url=self.url, storage_state=self.session, viewport={"width": 1280, "height": 900}, **settings
        ) as context:
            context.add_init_script(path=WATCH)
            yield context.new_page()
