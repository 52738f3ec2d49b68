"""The files of the owner's pages."""

from collections.abc import Mapping
from importlib import resources

from coterie_agent.site import Page

OWNER_PAGE = ("index.html", "owner.js", "page.js", "consent.js", "receipt.js", "updates.js", "logs.js", "owner.css")
"""The page of a device that has joined."""
RECEIPT_PAGE = ("forgotten.html", "forgotten.js", "page.js", "receipt.js", "owner.css")
"""The page of a device that was forgotten."""
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def pages(names: tuple[str, ...]) -> Mapping[str, Page]:
    """The files by method and path; the first is the start page."""
    folder = resources.files("coterie_agent.owner_page")
    paths = {name: f"GET /{name}" for name in names[1:]}
    return {
        path: Page((folder / name).read_bytes(), f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8")
        for name, path in {names[0]: "GET /", **paths}.items()
    }
