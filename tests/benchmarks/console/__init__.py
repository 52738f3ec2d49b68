"""The console on a fleet of 100,000 devices: its first load, and how soon the table of devices answers a person.

A real platform in embedded mode, the built console, and Debian's Chromium without a window on the same machine. The
browser itself measures: its Resource, Paint and Event Timing are those that Lighthouse and Web Vitals read.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from coterie.config.settings import CONSOLE_PAGE
from tests.benchmarks.console.interacting import interaction_figures
from tests.benchmarks.console.loading import load_figures
from tests.benchmarks.console.visitor import Visitor
from tests.benchmarks.report import Figure
from tests.console.browser import browser
from tests.console.seeded import seeded_fleet

DEVICES = 100_000


def measure() -> Sequence[Figure]:
    """Some minutes of two cores, most of them for the seeding."""
    assert CONSOLE_PAGE.exists(), "build the console first: make console"
    with (
        tempfile.TemporaryDirectory() as directory,
        browser() as chromium,
        seeded_fleet(Path(directory) / "state", devices=DEVICES) as fleet,
    ):
        visitor = Visitor.sign_in(chromium, fleet.url, fleet.password)
        size = Figure(f"Chromium {chromium.version}, headless", "devices of the fleet", DEVICES, "")
        return [size, *load_figures(visitor), *interaction_figures(visitor)]
