"""The owner's page that an agent serves on its own device, in a browser, in light, dark and narrow."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from coterie_agent.store.serving import Counted, Serving
from coterie_agent.updating.consent import ReleaseConsent, release_consent
from coterie_agent.updating.offer import Offer, keep_offer
from coterie_agent.updating.pinning import pin_update_root
from coterie_agent.versions.state import Versions
from coterie_learning.consent import WORDS
from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram
from coterie_wire.owning import ForgetNews, HoldsUpdate, Rebuilt
from coterie_wire.updating import AgentUpdate
from tests.console.axe import faults
from tests.console.browser import PATIENCE_MS
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.fake_platform import PLAN, TOKEN, FakePlatform, fake_platform
from tests.coterie_agent.test_cli import ENVIRONMENT, READY, ask, command, running
from tests.coterie_agent.updating.signed import Signed

pytestmark = pytest.mark.phone
SAMPLE = {"epsilon": 3.2715, "delta": 1e-6}
RECEIPTS = (
    ("update", 61_234, "local_noise", "counted in version 31", 0.913),
    ("masked update", 153_784, "secure_aggregation", "waits to be summed with others", None),
    ("profiles", 912, "profile_noise", "told the platform which data the device has, to find it help", None),
    ("update", 61_190, "", "left out: its content has another hash than when it was accepted", 0.87),
)

DONE = "everything of it that can be removed is removed"
REBUILT = Rebuilt(
    "digits",
    True,
    "version 41 holds no update of the device: 12 merges repeated without it; 10 versions that held it removed",
    version=41,
    repeated=12,
    retired=10,
    done_at="2026-01-02T12:00:00+00:00",
)
UNFINISHED = ForgetNews(
    receipt="",
    done=False,
    sentence="its files are being removed",
    asked_at="2026-01-01T12:00:00+00:00",
    device="d1",
    taken_out=1,
    removed={"updates": 3, "round_events": 12},
    holds=(HoldsUpdate("digits", 31, "v31", "2026-01-01T11:00:00+00:00", in_sum=True),),
    versions=1,
    rebuilt=(Rebuilt("digits", False, "3 of 12 merges are repeated"),),
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
                "sample": SAMPLE if privacy == "profile_noise" else None,
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
    assert ask(home, "join", platform.url, TOKEN, "--yes", "--name", "kitchen sensor")[0] == 0
    (tmp_path / "s.jsonl").write_text('{"x": [1, 2, 3, 4], "y": 0}\n')
    assert ask(home, "ingest", str(tmp_path / "s.jsonl"))[0] == 0
    return home


@pytest.fixture
def agent(home: Path, platform: FakePlatform) -> Iterator[subprocess.Popen[bytes]]:
    with running(home) as process:
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        yield process


def new_page(chromium: Browser, *, scheme: str, width: int) -> Page:
    context = chromium.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def opened(chromium: Browser, home: Path, *, scheme: str = "light", width: int = 1000) -> Page:
    page = new_page(chromium, scheme=scheme, width=width)
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
    expect(page.get_by_text("covered by profile noise: epsilon 3.27 of one sample at delta 0.000001")).to_be_visible()
    if pictures := os.environ.get("PICTURES"):
        page.screenshot(path=f"{pictures}/owner-{scheme}-{width}.png", full_page=True)
    assert faults(page) == []


@pytest.mark.usefixtures("agent")
def test_a_pause_keeps_the_limits_and_lasts_a_day_of_the_devices_clock(chromium: Browser, home: Path) -> None:
    page = new_page(chromium, scheme="light", width=1000)
    page.clock.set_fixed_time("2040-01-01T12:00:00Z")  # that of whoever looks at it
    page.goto(ask(home, "page")[1]["url"])
    page.get_by_label("only while nobody uses it").check()
    page.get_by_role("button", name="Save the limits").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    page.get_by_role("button", name="Pause for a day").click()
    expect(page.locator("#now")).to_contain_text("You have paused it until")
    with open_store(Home(home)) as store:
        choices = store.choices.load()
    assert choices.limits is not None and choices.limits.idle
    assert choices.paused_until == pytest.approx(time.time() + 86_400, abs=PATIENCE_MS)


@pytest.mark.usefixtures("agent")
def test_it_shows_how_its_programs_were_answered(chromium: Browser, home: Path) -> None:
    page = opened(chromium, home)
    expect(page.locator("#learns")).not_to_contain_text("Its answers to your programs")
    expect(page.locator("#learns")).to_contain_text("Samples that leave it" + "none")
    expect(page.locator("#stay")).to_be_visible()
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
@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 1000), ("light", 320), ("dark", 320)])
def test_the_owner_is_asked_to_agree_where_a_plan_asks_more(
    chromium: Browser, home: Path, platform: FakePlatform, scheme: str, width: int
) -> None:
    platform.assign("a1", plan={**PLAN, "help": {"kind": "cartel"}})
    page = opened(chromium, home, scheme=scheme, width=width)
    part, agreed = page.locator("#asked"), page.locator("#agreed")
    expect(part).to_contain_text("digits asks more than you have agreed to")
    expect(part.get_by_role("listitem")).to_have_text([WORDS["help"]])
    expect(page.locator("#now")).to_contain_text("digits asks more than this device's owner has agreed to")
    (first,) = agreed.locator("summary").all()
    expect(first).to_contain_text("by --yes: readable")
    first.click()
    expect(agreed.locator("pre")).to_contain_text(WORDS["readable"])
    if pictures := os.environ.get("PICTURES"):
        page.screenshot(path=f"{pictures}/consent-{scheme}-{width}.png", full_page=True)
    assert faults(page) == []
    part.get_by_role("button", name="Agree to what digits asks").click()
    expect(part).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text("You have agreed.")
    expect(agreed.locator("summary").first).to_contain_text("on this page: readable, help")
    expect(page.locator("#now")).not_to_contain_text("asks more")


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
    platform.forgetting = msgspec.structs.replace(UNFINISHED, rebuilt=(), holds=(), versions=0)
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
    forgotten = page.locator("#forgotten")
    expect(forgotten).to_contain_text("Not done yet: its files are being removed")
    expect(forgotten).to_contain_text("Models made again without it" + "Not known yet.")
    expect(forgotten).to_contain_text("Versions known to hold updates of it" + "Not known yet.")
    assert agent.wait(10) == Exit.NOT_JOINED
    (receipt,) = platform.forgotten
    expect(forgotten).to_contain_text(receipt)
    assert faults(page) == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 320), ("light", 320)])
def test_what_became_of_a_forgotten_device_is_shown(
    chromium: Browser, home: Path, platform: FakePlatform, scheme: str, width: int
) -> None:
    platform.forgetting = UNFINISHED
    ask(home, "forget", "--yes")
    with receipt_page(home) as url:
        page = new_page(chromium, scheme=scheme, width=width)
        page.clock.install()
        page.goto(url)
        forgotten = page.locator("#forgotten")
        expect(forgotten).to_contain_text("digits, not done yet: 3 of 12 merges are repeated")
        expect(forgotten).to_contain_text("version 31 of digits")
        expect(forgotten).to_contain_text("in a sum, from which nobody could take it")
        platform.forgetting = msgspec.structs.replace(
            UNFINISHED, done=True, sentence=DONE, rebuilt=(REBUILT,), done_at="2026-01-03T12:00:00+00:00"
        )
        page.clock.run_for(31_000)
        expect(forgotten).to_contain_text(f"Done, 3 Jan 2026, 12:00: {DONE}.")
        expect(forgotten).to_contain_text(f"digits, done 2 Jan 2026, 12:00: {REBUILT.sentence}")
        expect(page.get_by_role("status")).to_have_text("It is done.")
        if pictures := os.environ.get("PICTURES"):
            page.screenshot(path=f"{pictures}/forgotten-{scheme}-{width}.png", full_page=True)
        assert faults(page) == []


@contextmanager
def receipt_page(home: Path) -> Iterator[str]:
    """Where the page of the receipt is served."""
    served = subprocess.Popen([*command(home, "page"), "--json"], env=ENVIRONMENT, stdout=subprocess.PIPE)
    with served as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture
def offered(home: Path, platform: FakePlatform, tmp_path: Path) -> None:
    """A release that waits for the owner's word, and one that was gone back from."""
    agents = Home(home)
    pin_update_root(agents, Signed(tmp_path / "operator").root())
    keep_offer(agents, Offer("9.0.0", "Trains in half the time.\nKeeps less.", 1_234_567, ("3f2a91c07d" * 6,), 1))
    crashed = Reason("updates.crashed", "agent 8.0.0 ended by itself 3 times before it had checked in")
    Versions(agents.versions).end("u-0", "8.0.0", "rolled_back", crashed)
    platform.update = AgentUpdate(update="u-1", version="9.0.0", probation_s=60.0)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 320), ("light", 320)])
@pytest.mark.usefixtures("offered")
def test_the_owner_is_asked_about_another_agent(
    chromium: Browser, home: Path, agent: subprocess.Popen[bytes], scheme: str, width: int
) -> None:
    assert agent.poll() is None
    page = opened(chromium, home, scheme=scheme, width=width)
    part = page.locator("#agent")
    expect(part).to_contain_text("Agent 9.0.0 is offered")
    for said in ("Trains in half the time.", "Signed by 3f2a91c0; one signature is asked for", "At most 1.2 MB"):
        expect(part).to_contain_text(said)
    expect(part).to_contain_text("agent 8.0.0 gone back from: agent 8.0.0 ended by itself 3 times")
    expect(page.locator("#now")).not_to_contain_text("owner's word")
    if pictures := os.environ.get("PICTURES"):
        page.screenshot(path=f"{pictures}/agent-{scheme}-{width}.png", full_page=True)
    assert faults(page) == []
    part.get_by_role("button", name="Not now").click()
    expect(part).to_contain_text("You do not want it before")
    expect(page.get_by_role("status")).to_have_text("It asks again in a day.")
    part.get_by_role("button", name="Always agree").click()
    expect(page.get_by_role("status")).to_have_text("You agree to all that are signed so.")
    part.get_by_role("button", name="Ask me about each").click()
    expect(page.get_by_role("status")).to_have_text("It asks about each.")
    assert release_consent(Home(home)) == ReleaseConsent()
