"""A phone in headless Chromium, on a real platform: its first visit, the page while it trains, and cut uploads."""

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, expect

from coterie.config.settings import PHONE_PAGE
from coterie_learning.codec.float32 import Float32Codec
from tests.benchmarks.report import Figure
from tests.console.first_load import FETCHED
from tests.phone.browser_phone import BrowserPhone, phone_browser
from tests.system.eventually import eventually
from tests.system.model import payload, samples
from tests.system.operator_client import Json, OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.proxy import Proxy

LARGEST_KB, LONGEST_S = 300, 60
HEAP_MB, GAP_MS = 128, 100
CHUNK_KB = 262
"""A piece of an upload, what a broken link can cost at most."""
SAMPLES, MANY = 200, 900
WATCHED_S = 10
CUTS = (0.1, 0.5, 0.9)
UPDATE_BYTES = len(payload(1, Float32Codec()))
PACE: Json = {"kind": "sync", "target_updates": 1, "min_updates": 1, "over_selection": 1, "deadline_s": 600}
PLAN: Json = {"local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.05}, "pace": PACE}
LONG: Json = {"local": {"kind": "sgd", "epochs": 1000, "learning_rate": 0.0005}, "pace": PACE}
WHOLE: Json = {**PLAN, "codec": {"kind": "float32"}}
TRANSFERRED = FETCHED.replace("encodedBodySize", "transferSize")
HEAP = "async () => (await performance.measureUserAgentSpecificMemory()).bytes"
WATCH = """
() => {
  globalThis.longestGap = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    globalThis.longestGap = Math.max(globalThis.longestGap, now - last);
    last = now;
    setTimeout(look, 0);
  };
  look();
}
"""
"""Timers come 4 ms apart at best; a gap is what a tap may wait for."""


class Site(NamedTuple):
    """A platform that runs, and what uses it."""

    platform: Platform
    operator: OperatorClient
    chromium: Browser
    pairs: Iterator[str]
    folder: Path


def measure() -> Sequence[Figure]:
    """Two minutes."""
    with _site() as site:
        return [*_first_visit(site), *_training(site), *_cut_uploads(site)]


@contextmanager
def _site() -> Iterator[Site]:
    assert PHONE_PAGE.exists(), "build the phone's page first: make phone"
    with tempfile.TemporaryDirectory() as directory, phone_browser() as chromium:
        folder = Path(directory)
        seeded = prepare_state(folder / "prepared", pairs=3, state=str(folder / "state"))
        platform = Platform(folder / "state")
        platform.start()
        try:
            with OperatorClient(platform.url, seeded.token) as operator:
                yield Site(platform, operator, chromium, iter(seeded.pairs), folder)
        finally:
            platform.stop()


def _first_visit(site: Site) -> Sequence[Figure]:
    operator = site.operator
    federation = operator.start_federation("first", pair=next(site.pairs), plan=PLAN, rounds_wanted=1)
    phone = BrowserPhone(site.chromium, site.platform.url, "phone")
    began = time.monotonic()
    page = phone.join(operator.enrolment_token(tag="first"))
    phone.add_samples(site.folder, *samples(SAMPLES, seed=1))
    operator.ended_round(federation, 1, within_s=120)
    took_s = time.monotonic() - began
    first_kb = _kilobytes(page, FETCHED)
    page.reload()
    page.wait_for_load_state("networkidle")
    again_kb = _kilobytes(page, TRANSFERRED)
    phone.close()
    return [
        _at_most("first visit", "page, styles and scripts, compressed", first_kb, "kB", LARGEST_KB),
        Figure("first visit", "onnxruntime's WebAssembly, Brotli, once", _runtime_kb(), "kB"),
        Figure("second visit", "transferred, headers included", again_kb, "kB"),
        _at_most("first visit", "from the link to a version with its update", took_s, "s", LONGEST_S),
    ]


def _training(site: Site) -> Sequence[Figure]:
    """What the page itself feels of a training that lasts longer than it is watched."""
    federation = site.operator.start_federation("long", pair=next(site.pairs), plan=LONG)
    phone = BrowserPhone(site.chromium, site.platform.url, "watched")
    page = phone.join(site.operator.enrolment_token(tag="long"))
    waiting_ms = _longest_gap_ms(page)
    phone.add_samples(site.folder, *samples(MANY, seed=2))
    expect(page.get_by_role("heading", name=re.compile(r"^Training: step [1-9]"))).to_be_visible(timeout=120_000)
    training_ms = _longest_gap_ms(page)
    heap_mb = page.evaluate(HEAP) / 1e6
    expect(page.get_by_role("heading", name=re.compile(r"^Training: step"))).to_be_visible()
    site.operator.post(f"/federations/{federation}/finish/")
    phone.close()
    return [
        _at_most("training", "memory of the page and its workers, as the browser counts it", heap_mb, "MB", HEAP_MB),
        Figure("waiting", f"longest gap of the main thread in {WATCHED_S} s", waiting_ms, "ms"),
        _at_most("training", f"longest gap of the main thread in {WATCHED_S} s", training_ms, "ms", GAP_MS),
    ]


def _cut_uploads(site: Site) -> Sequence[Figure]:
    """One update whose connection breaks three times, each time after a larger part of it."""
    operator = site.operator
    with Proxy(site.platform.url) as proxy:
        federation = operator.start_federation("cut", pair=next(site.pairs), plan=WHOLE, rounds_wanted=1)
        first, *later = (int(share * UPDATE_BYTES) for share in CUTS)
        proxy.holds_uploads_after = first
        phone = BrowserPhone(site.chromium, proxy.url, "cut")
        phone.join(operator.enrolment_token(tag="cut"))
        phone.add_samples(site.folder, *samples(SAMPLES, seed=3))
        for following in (*later, None):
            held = proxy.holds_uploads_after
            eventually(lambda held=held: proxy.uploaded_bytes == held, within_s=120)
            proxy.holds_uploads_after = following
            proxy.break_all()
        round_ = operator.ended_round(federation, 1, within_s=240)
        assert round_["state"] == "published", round_
        again_kb = (proxy.uploaded_bytes - UPDATE_BYTES) / len(CUTS) / 1000
        phone.close()
    what = f"sent again a cut, of {UPDATE_BYTES / 1000:.0f} kB that are cut at 10, 50 and 90 %"
    return [_at_most("upload", what, again_kb, "kB", CHUNK_KB)]


def _longest_gap_ms(page: Page) -> float:
    page.evaluate(WATCH)
    page.wait_for_timeout(1000 * WATCHED_S)
    return float(page.evaluate("globalThis.longestGap"))


def _at_most(case: str, metric: str, value: float, unit: str, target: float) -> Figure:
    return Figure(case, metric, value, unit, f"target <= {target} {unit}", target / value)


def _kilobytes(page: Page, sizes: str) -> float:
    """Of what the page itself fetched; answers of the platform are not counted."""
    of_phone = ("/phone/", "/static/phone/")
    fetched: list[tuple[str, int]] = page.evaluate(sizes)
    return sum(size for path, size in fetched if path.startswith(of_phone) and not path.endswith(".wasm")) / 1000


def _runtime_kb() -> float:
    (runtime,) = (PHONE_PAGE.parent / "assets").glob("*.wasm.br")
    return runtime.stat().st_size / 1000
