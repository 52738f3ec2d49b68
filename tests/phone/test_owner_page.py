"""The owner's page that an agent serves on its own device, in a browser, in light, dark and narrow."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from coterie_agent.errors import Exit
from tests.console.axe import faults
from tests.console.browser import PATIENCE_MS
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.fake_platform import TOKEN, FakePlatform, fake_platform
from tests.coterie_agent.test_cli import READY, ask, running

pytestmark = pytest.mark.phone
RECEIPTS = (
    ("update", 61_234, "local_noise", "counted in version 31", 0.913),
    ("masked update", 153_784, "secure_aggregation", "waits to be summed with others", None),
    ("update", 61_190, "", "left out: its content has another hash than when it was accepted", 0.87),
)


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    with fake_platform(make_bundle()) as served:
        served.champion = True
        rows = [
            {
                "at": f"2026-01-0{day}T12:00:00Z",
                "kind": kind,
                "size_bytes": size,
                "count": 1,
                "federation": "digits",
                "privacy": privacy,
                "fate": "counted",
                "sentence": sentence,
                "accuracy": accuracy,
            }
            for day, (kind, size, privacy, sentence, accuracy) in enumerate(RECEIPTS, start=1)
        ]
        served.known = {"receipts": tuple(msgspec.Raw(json.dumps(row).encode()) for row in rows)}
        yield served


@pytest.fixture
def home(tmp_path: Path, platform: FakePlatform) -> Path:
    home = tmp_path / "agent"
    home.mkdir()
    (home / "agent.toml").write_text('conditions_file = "conditions.json"\n')
    (home / "conditions.json").write_text(READY)
    assert ask(home, "join", platform.url, TOKEN, "--name", "kitchen sensor")[0] == 0
    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert ask(home, "ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return home


@pytest.fixture
def agent(home: Path, platform: FakePlatform) -> Iterator[subprocess.Popen[bytes]]:
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        yield process


def opened(chromium: Browser, home: Path, *, scheme: str = "light", width: int = 1000) -> Page:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(ask(home, "page")[1]["url"])
    expect(page.get_by_role("heading", level=1)).to_have_text("kitchen sensor")
    expect(page.get_by_text("counted in version 31")).to_be_visible()
    return page


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 1000), ("light", 320), ("dark", 320)])
def test_it_is_whole_in_light_dark_and_narrow(chromium: Browser, home: Path, scheme: str, width: int) -> None:
    page = opened(chromium, home, scheme=scheme, width=width)
    assert "#" not in page.url, "the token does not stay in the address"
    expect(page.get_by_text("red, green, blue")).to_be_visible()
    expect(page.locator("#learns")).to_contain_text("87.0 %")
    if pictures := os.environ.get("PICTURES"):
        page.screenshot(path=f"{pictures}/owner-{scheme}-{width}.png", full_page=True)
    assert faults(page) == []


@pytest.mark.usefixtures("agent")
def test_the_owner_pauses_limits_and_exports(chromium: Browser, home: Path, tmp_path: Path) -> None:
    page = opened(chromium, home)
    page.get_by_role("button", name="Pause until I say so").click()
    expect(page.locator("#now")).to_contain_text("its owner has paused training")
    page.reload()
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#now")).not_to_contain_text("paused")
    page.get_by_label("no hotter than").fill("10")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.locator("#now")).to_contain_text("cannot tell its temperature")
    page.get_by_label("from", exact=True).fill("22")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.get_by_role("status")).to_have_text("Give both hours, or none.")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "export.json")
    assert json.loads((tmp_path / "export.json").read_text())["format"] == "coterie-device-export/1"


def test_the_owner_has_it_forgotten(
    chromium: Browser, home: Path, platform: FakePlatform, agent: subprocess.Popen[bytes]
) -> None:
    page = opened(chromium, home)
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Forget me").click()
    page.get_by_label("The device's name").fill("another")
    page.get_by_role("button", name="Go on", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("this device is called 'kitchen sensor'")
    assert not platform.forgotten
    page.get_by_role("button", name="Forget me").click()
    assert faults(page) == [], "the question, too"
    page.get_by_label("The device's name").fill("kitchen sensor")
    page.get_by_role("button", name="Go on", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Keep the number")
    assert agent.wait(10) == Exit.NOT_JOINED
    (receipt,) = platform.forgotten
    expect(page.get_by_role("status")).to_contain_text(receipt)
