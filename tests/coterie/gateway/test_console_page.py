import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from coterie.accounts.services import create_operator
from coterie.gateway.console_page import SECTIONS

pytestmark = pytest.mark.django_db
ROUTES = Path(__file__).parents[3] / "frontend/console/src/routeTree.gen.ts"
ADDRESSES = ("/", "/devices", "/devices/7?tab=history", "/settings/people")


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(create_operator(username="ada").operator)
    return client


@pytest.fixture
def built(tmp_path: Path, settings: Settings) -> Iterator[None]:
    page = tmp_path / "index.html"
    page.write_text('<meta property="csp-nonce" nonce="__CSP_NONCE__"><script src="/static/console/a.js"></script>')
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "index.html").write_text('<html lang="de">')
    settings.CONSOLE_PAGE = page
    yield


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_of_the_console_is_its_page(browser: Client, address: str) -> None:
    answer = browser.get(address)
    nonce = re.search(r'nonce="([^"]+)"', answer.content.decode())
    assert nonce is not None
    policy = answer["Content-Security-Policy"]
    assert f"style-src 'self' 'nonce-{nonce[1]}'" in policy
    assert "unsafe" not in policy
    assert answer["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    assert "csrftoken" in answer.cookies


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("asked", "cookie", "is_german"),
    [
        ("de-CH,de;q=0.9,en;q=0.8", None, True),
        ("en-GB,de;q=0.5", None, False),
        ("fr", None, False),
        ("de", "en", False),
        ("en", "de", True),
        ("en", "../de", False),
    ],
)
def test_the_page_is_in_the_language_that_was_chosen_or_that_the_browser_asks_for(
    browser: Client, asked: str, cookie: str | None, is_german: bool
) -> None:
    if cookie is not None:
        browser.cookies["django_language"] = cookie
    answer = browser.get("/", headers={"Accept-Language": asked})
    assert ('lang="de"' in answer.content.decode()) == is_german
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}


@pytest.mark.usefixtures("built")
def test_a_nonce_is_used_once(browser: Client) -> None:
    assert browser.get("/").content != browser.get("/").content


@pytest.mark.usefixtures("built")
def test_who_is_not_signed_in_comes_back_to_the_address_afterwards() -> None:
    assert Client().get("/devices").headers["Location"] == "/sign-in/?next=/devices"


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("address", ["/api/nothing/", "/static/console/gone.js", "/admin/nothing/", "/device/v1/x"])
def test_addresses_of_others_are_not_the_console(browser: Client, address: str) -> None:
    assert browser.get(address).status_code == 404


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("address", ["/metrics", "/health", "/robots.txt", "/device-list", "/devicesx"])
def test_what_is_no_address_is_not_found(browser: Client, address: str) -> None:
    answer = browser.get(address)
    assert answer.status_code == 404
    assert "nothing at this address" in answer.content.decode()


def test_browsers_find_the_icon_where_they_look_for_it() -> None:
    assert Client().get("/favicon.ico").headers["Location"] == "/static/gateway/icon.svg"


def test_every_route_of_the_console_is_in_one_of_its_sections() -> None:
    by_path = re.search(r"interface FileRoutesByTo \{(.+?)\}", ROUTES.read_text(), re.DOTALL)
    assert by_path is not None
    assert set(re.findall(r"'/(\w+)", by_path[1])) == set(SECTIONS)


def test_where_it_is_not_built_the_plain_page_says_how(browser: Client) -> None:
    assert "make console" in browser.get("/").content.decode()
    assert browser.get("/devices").status_code == 404
