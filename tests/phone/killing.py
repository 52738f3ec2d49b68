"""Kills a phone's browser, its tab and its platform at random, and counts what was lost or doubled."""

import random
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
import psutil
from playwright.sync_api import Browser, BrowserType, Page, expect

from coterie.demo.phone import ON_THE_CHARGER
from tests.console.browser import CHROMIUM, PATIENCE_MS, QUIET
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json, OperatorClient
from tests.system.processes import Platform, kill_with_children

Victim = Literal["browser", "tab", "platform"]
VICTIMS: Sequence[Victim] = ("browser", "tab", "platform")
NAME, SAMPLES = "fragile", 120
PLAN: Json = {
    "local": {"kind": "sgd", "epochs": 20, "learning_rate": 0.001},
    "pace": {
        "kind": "sync",
        "target_updates": 1,
        "min_updates": 1,
        "over_selection": 1,
        "deadline_s": 900,
        "pause_s": 0,
    },
}
SHORTEST_S, LONGEST_S = 0.1, 5.0
"""Between a page that is there again and the next kill."""
PATIENCE_S = 120
FINISHED = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const ended = await new Promise((done) => {
    db.transaction("finished").objectStore("finished").getAll().onsuccess = (e) => done(e.target.result);
  });
  db.close();
  return ended.filter(({ outcome }) => outcome === "accepted").map(({ assignment }) => assignment);
}
"""
MERGED = """
SELECT round.number, "update".id, "update".sha256 FROM rounds_round round
JOIN merging_merge merge ON merge.id = round.merge_id
JOIN merging_update "update" ON "update".merge_id = merge.id
WHERE round.state = 'published' AND merge.result_version_id IS NOT NULL
"""
"""By round, of which assignment each update is that its version holds, and its content."""


class Seen(NamedTuple):
    """What was killed, and what came of it."""

    killed: Mapping[Victim, int]
    rounds: int
    """That were published, each of one update."""
    accepted: int
    """Updates of which the phone knows that they were accepted."""
    lost: int
    """Of those that went into no version, and rounds published without an update."""
    doubled: int
    """Updates that a version holds beside another of the phone, and contents that were counted a second time."""


class KillableBrowser:
    """Chromium as a process of its own, with a profile that outlives it; its phone charges and is on Wi-Fi."""

    def __init__(self, chromium: BrowserType, url: str, profile: Path) -> None:
        self._chromium, self._url, self._profile = chromium, url, profile
        self._process: subprocess.Popen[bytes] | None = None
        self._browser: Browser | None = None
        self._page: Page | None = None

    @property
    def page(self) -> Page:
        assert self._page is not None, "open it first"
        return self._page

    def open(self, address: str = "/phone/") -> Page:
        """A tab, in a browser that is started where there is none."""
        if self._browser is None:
            self._start()
        assert self._browser is not None
        (context,) = self._browser.contexts
        self._page = context.new_page()
        self._page.set_default_timeout(PATIENCE_MS)
        self._page.add_init_script(ON_THE_CHARGER)
        self._page.goto(self._url + address)
        return self._page

    def kill(self) -> None:
        """All of its processes at once."""
        assert self._process is not None
        kill_with_children(psutil.Process(self._process.pid))
        self._process.wait()
        self._process = self._browser = self._page = None

    def kill_tab(self) -> None:
        """The processes in which pages and their workers run, as a system out of memory does."""
        assert self._process is not None
        for child in psutil.Process(self._process.pid).children(recursive=True):
            try:
                if "--type=renderer" in child.cmdline():
                    child.kill()
            except psutil.NoSuchProcess:
                continue
        self.page.close()

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    def _start(self) -> None:
        told = self._profile / "DevToolsActivePort"
        told.unlink(missing_ok=True)
        assert CHROMIUM, "install Chromium first, e.g. apt-get install chromium"
        options = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self._profile}", *QUIET]
        self._process = subprocess.Popen(
            [CHROMIUM, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port = eventually(lambda: told.exists() and told.read_text().partition("\n")[0], within_s=PATIENCE_S)
        self._browser = self._chromium.connect_over_cdp(f"http://127.0.0.1:{port}")


def kill_at_random(
    chromium: BrowserType,
    platform: Platform,
    operator: OperatorClient,
    *,
    pair: str,
    directory: Path,
    kills: Sequence[Victim],
    seed: int,
    tell: Callable[[str], None] = lambda _line: None,
) -> Seen:
    """A phone learns alone while `kills` happen; the moments follow from `seed`, what they meet does not.

    Raises AssertionError where it does not go on by itself.
    """
    moments = random.Random(seed)
    federation = operator.start_federation(NAME, pair=pair, plan=PLAN)
    browser = KillableBrowser(chromium, platform.url, directory / "profile")
    try:
        page = browser.open(f"/phone/#join={operator.enrolment_token(tag=NAME)}")
        page.get_by_role("button", name="Join").click()
        page.get_by_label("Add samples").set_input_files(_samples(directory))
        operator.ended_round(federation, 1, within_s=PATIENCE_S)
        for number, victim in enumerate(kills, 1):
            time.sleep(moments.uniform(SHORTEST_S, LONGEST_S))
            tell(f"{number} of {len(kills)}: {victim}")
            _kill(victim, browser, platform)
            expect(browser.page.get_by_role("heading", level=1)).to_have_text("my phone", timeout=PATIENCE_S * 1000)
        newest = operator.list("/rounds/", federation=federation, state="published", sort="-number")[0]["number"]
        operator.ended_round(federation, newest + 2, within_s=PATIENCE_S)
        operator.post(f"/federations/{federation}/finish/")
        return _counted(browser.page, platform, kills)
    finally:
        browser.close()


def _kill(victim: Victim, browser: KillableBrowser, platform: Platform) -> None:
    match victim:
        case "platform":
            platform.kill_all()
        case "tab":
            browser.kill_tab()
            browser.open()
        case "browser":
            browser.kill()
            browser.open()


def _samples(directory: Path) -> Path:
    x, y = samples(SAMPLES, seed=3)
    flat = x.reshape(len(x), -1)
    path = directory / "samples.csv"
    header = ",".join([*(f"x{place}" for place in range(flat.shape[1])), "label"])
    np.savetxt(path, np.column_stack([flat, y]), delimiter=",", header=header, comments="", fmt="%.6g")
    return path


def _counted(page: Page, platform: Platform, kills: Sequence[Victim]) -> Seen:
    """What the phone keeps beside what the platform's tables hold, once nothing is under way any more."""

    tables = platform.state / "coterie.sqlite3"
    until = time.monotonic() + PATIENCE_S
    while True:
        accepted = {UUID(one).hex for one in page.evaluate(FINISHED)}
        merged = _rows(tables, MERGED)
        assignments = {UUID(one).hex for _, one, _ in merged}
        if accepted <= assignments or time.monotonic() > until:
            break
        time.sleep(0.5)
    rounds, contents = Counter(number for number, _, _ in merged), Counter(sha256 for _, _, sha256 in merged)
    ((published,),) = _rows(tables, "SELECT count(*) FROM rounds_round WHERE state = 'published'")
    return Seen(
        killed=Counter(kills),
        rounds=published,
        accepted=len(accepted),
        lost=len(accepted - assignments) + published - len(rounds),
        doubled=sum(count - 1 for count in (*rounds.values(), *contents.values())),
    )


# Any: rows of different queries.
def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as tables:
        return tables.execute(query).fetchall()
