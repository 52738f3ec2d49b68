"""A phone's browser opens the page of a device by its link, once, and is known from then on."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.fake_platform import TOKEN, fake_platform
from tests.coterie_agent.test_cli import READY, ask, running

pytestmark = pytest.mark.console
PORT = 8731


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "agent"
    home.mkdir()
    (home / "conditions.json").write_text(READY)
    page = f'[page]\non_network = true\naddress = "127.0.0.1"\nport = {PORT}\n'
    (home / "agent.toml").write_text(f'conditions_file = "conditions.json"\n{page}')
    return home


@pytest.fixture
def link(home: Path) -> Iterator[str]:
    """That which joining printed, of an agent that runs."""
    with fake_platform(make_bundle()) as platform:
        link = str(ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kiosk")[1]["page"])
        with running(home):
            ends_at = time.monotonic() + 20
            while not (home / "network-page.json").exists():
                assert time.monotonic() < ends_at
                time.sleep(0.1)
            yield link


@pytest.fixture
def phones(chromium: Browser) -> Iterator[tuple[Page, Page]]:
    """Two, whose owners have gone on after the warning."""
    viewport: ViewportSize = {"width": 390, "height": 800}
    first, second = (chromium.new_context(ignore_https_errors=True, viewport=viewport) for _ in range(2))
    yield first.new_page(), second.new_page()
    first.close()
    second.close()


def test_a_phone_opens_the_page_by_its_link(link: str, home: Path, phones: tuple[Page, Page]) -> None:
    phone, other = phones
    failed: list[str] = []
    phone.on("pageerror", lambda error: failed.append(str(error)))
    phone.goto(link)
    expect(phone.get_by_role("heading", name="kiosk")).to_be_visible()
    assert phone.url == f"https://127.0.0.1:{PORT}/", "the secret does not stay in the address"
    (cookie,) = phone.context.cookies()
    assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Strict"
    phone.get_by_role("button", name="Pause until I say so").click()
    expect(phone.get_by_text("You have paused it.")).to_be_visible()
    phone.reload()
    expect(phone.get_by_role("button", name="Go on")).to_be_visible()
    other.goto(link)
    expect(other.get_by_text("the link was used")).to_be_visible()
    phone.goto("about:blank")
    phone.goto(link)
    expect(phone.get_by_role("heading", name="kiosk")).to_be_visible()
    assert ask(home, "page", "--sign-out")[1] == {"phones": 1}
    expect(phone.get_by_text("coterie-agent page")).to_be_visible()
    assert failed == []
