"""The owner's page that an agent serves on its own device, in a browser, in light, dark and narrow."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_agent.store.serving import Counted, Serving
from coterie_wire.latency import Histogram
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
    (home / "agent.toml").write_text('conditions_file = "conditions.json"\n[labels]\nquiet = [0, 0]\n')
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
def test_it_shows_how_its_programs_were_answered(chromium: Browser, home: Path) -> None:
    page = opened(chromium, home)
    expect(page.locator("#learns")).not_to_contain_text("Its answers to your programs")
    expect(page.locator("#learns")).to_contain_text("Samples that leave it" + "none")
    expect(page.get_by_text("Samples never leave.")).to_be_visible()
    counted = Counted(requests=1005, answered=986, last_answers=9, platform_answers=4, late=3, busy=2, without_model=1)
    nothing = Histogram()
    with open_store(Home(home)) as store:
        store.journal.write_serving(
            Serving(
                at=0,
                since=0,
                version="v1",
                personal=False,
                form="float32",
                problem=None,
                counted=counted,
                latency=nothing,
                runs=nothing,
            )
        )
    page.reload()
    expect(page.locator("#learns")).to_contain_text(
        "986 of 1005 by its model, 9 by an earlier answer, 4 by the platform, 6 not answered; since 1 Jan 1970"
    )


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 320)])
def test_the_owner_is_asked_what_a_sample_shows(chromium: Browser, home: Path, scheme: str, width: int) -> None:
    address = json.loads((home / "local-api.json").read_text())
    samples = [{"x": [place, 0, 0, 0], "shown": f"at {place} o'clock"} for place in range(3)]
    asked = Request(
        address["url"] + "/ask-label",
        data=json.dumps({"samples": samples}).encode(),
        headers={"Authorization": f"Bearer {address['token']}"},
    )
    urlopen(asked).close()
    page = opened(chromium, home, scheme=scheme, width=width)
    part = page.locator("#labels")
    expect(part).to_contain_text("What is this?")
    if pictures := os.environ.get("PICTURES"):
        page.screenshot(path=f"{pictures}/labels-{scheme}-{width}.png", full_page=True)
    assert faults(page) == []
    first = part.locator("#question > p").first.inner_text()
    part.get_by_role("button", name="green").click()
    expect(page.get_by_role("status")).to_have_text("Thank you.")
    expect(part).to_contain_text("1 you have said")
    expect(part.locator("#question > p").first).not_to_have_text(first)
    part.get_by_role("button", name="I do not know").click()
    expect(part).to_contain_text("; 1 without one")
    part.get_by_role("button", name="Undo the last answer").click()
    expect(part.locator("#question > p").first).to_have_text(first)
    part.get_by_role("button", name="Not for a day").click()
    expect(part).to_contain_text("Ask me again")


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
