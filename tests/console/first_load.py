"""What a browser that knows nothing yet fetches before the overview is complete."""

from typing import NamedTuple

from playwright.sync_api import Page

LARGEST_KB = 250
"""What it comes to at most."""
# The size of a body as it travels, also of one that the browser had already.
FETCHED = """() => ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type)).map(
  ({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])"""
KINDS = {".js": "scripts", ".css": "styles", ".woff2": "fonts"}
OTHERS = "page, icon and answers of the REST API"


class Fetched(NamedTuple):
    """One body, as it travelled."""

    path: str
    size_bytes: int

    @property
    def kind(self) -> str:
        """What it is, in a word for a table."""
        return next((kind for ending, kind in KINDS.items() if self.path.endswith(ending)), OTHERS)


def open_overview(page: Page) -> list[Fetched]:
    """Load it, signed in, until nothing more is fetched."""
    page.goto("/")
    page.get_by_role("region", name="Repairs").wait_for()
    page.wait_for_load_state("networkidle")
    return [Fetched(path, size_bytes) for path, size_bytes in page.evaluate(FETCHED)]
