"""A phone's first visit in headless Chromium, on a real platform: what it fetches, and how soon its update counts."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

from coterie.config.settings import PHONE_PAGE
from tests.benchmarks.report import Figure
from tests.console.first_load import FETCHED
from tests.phone.browser_phone import BrowserPhone, phone_browser
from tests.system.model import samples
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state

LARGEST_KB, LONGEST_S = 300, 60
SAMPLES = 200
PLAN = {
    "local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.05},
    "pace": {"kind": "sync", "target_updates": 1, "min_updates": 1, "over_selection": 1},
}
TRANSFERRED = FETCHED.replace("encodedBodySize", "transferSize")


def measure() -> Sequence[Figure]:
    """A minute."""
    assert PHONE_PAGE.exists(), "build the phone's page first: make phone"
    with tempfile.TemporaryDirectory() as directory, phone_browser() as chromium:
        folder = Path(directory)
        seeded = prepare_state(folder / "prepared", pairs=1, state=str(folder / "state"))
        platform = Platform(folder / "state")
        platform.start()
        try:
            with OperatorClient(platform.url, seeded.token) as operator:
                federation = operator.start_federation("first", pair=seeded.pairs[0], plan=PLAN, rounds_wanted=1)
                phone = BrowserPhone(chromium, platform.url, "phone")
                began = time.monotonic()
                page = phone.join(operator.enrolment_token(tag="first"))
                phone.add_samples(folder, *samples(SAMPLES, seed=1))
                operator.ended_round(federation, 1, within_s=120)
                took_s = time.monotonic() - began
                first_kb = _kilobytes(page, FETCHED)
                page.reload()
                page.wait_for_load_state("networkidle")
                again_kb = _kilobytes(page, TRANSFERRED)
                phone.close()
        finally:
            platform.stop()
    return [
        _at_most("page, styles and scripts, compressed", first_kb, "kB", LARGEST_KB),
        Figure("first visit", "onnxruntime's WebAssembly, Brotli, once", _runtime_kb(), "kB"),
        Figure("second visit", "transferred, headers included", again_kb, "kB"),
        _at_most("from the link to a version with its update", took_s, "s", LONGEST_S),
    ]


def _at_most(metric: str, value: float, unit: str, target: float) -> Figure:
    return Figure("first visit", metric, value, unit, f"target <= {target} {unit}", target / value)


def _kilobytes(page: Page, sizes: str) -> float:
    """Of what the page itself fetched; answers of the platform are not counted."""
    of_phone = ("/phone/", "/static/phone/")
    fetched: list[tuple[str, int]] = page.evaluate(sizes)
    return sum(size for path, size in fetched if path.startswith(of_phone) and not path.endswith(".wasm")) / 1000


def _runtime_kb() -> float:
    (runtime,) = (PHONE_PAGE.parent / "assets").glob("*.wasm.br")
    return runtime.stat().st_size / 1000
