"""The demo's phone: the page that phones join by, in a headless browser, with digits of its own."""

import csv
import json
from pathlib import Path

import numpy as np

from coterie.demo.chromium import Chromium
from coterie.demo.digits import Samples

NAME = "phone"
JOIN_S, TAKE_IN_S = 60.0, 30.0
"""How long a busy machine may take to enrol it, and to take its samples in."""
ON_THE_CHARGER = """
const battery = Object.assign(new EventTarget(), { charging: true, level: 1 });
const connection = Object.assign(new EventTarget(), { type: "wifi", saveData: false });
Object.defineProperty(Navigator.prototype, "getBattery", { value: async () => battery });
Object.defineProperty(Navigator.prototype, "connection", { get: () => connection });
"""
"""What its probes say, as the agents of the demo are told theirs."""
ENROL = f"""
(() => {{
  const name = document.getElementById("name");
  name.value = {json.dumps(NAME)};
  name.form.requestSubmit();
}})()
"""
HAS_SAMPLES = """
[...document.querySelectorAll("h2")].some(({ textContent }) => /^Samples in this browser: [1-9]/.test(textContent))
"""


class DemoPhone:
    """A browser that is a device of the fleet. Methods raise BrowserFailed."""

    name = NAME

    def __init__(self, chromium: Chromium, *, samples: Samples, state: Path) -> None:
        self._chromium, self._state, self.samples = chromium, state, samples

    def join(self, url: str, token: str) -> None:
        """Enrol by the link, as a camera opens it, and pick the file with its samples; from then on it takes part."""
        browser = self._chromium
        browser.before_each_page(ON_THE_CHARGER)
        browser.open(f"{url}/phone/#join={token}")
        browser.wait_for("document.getElementById('name') !== null", within_s=JOIN_S)
        browser.evaluate(ENROL)
        browser.wait_for("document.getElementById('file') !== null", within_s=JOIN_S)
        path = write_csv(self._state / f"{NAME}.csv", self.samples)
        browser.choose_file("#file", path)
        browser.wait_for(HAS_SAMPLES, within_s=TAKE_IN_S)
        path.unlink()


def write_csv(path: Path, samples: Samples) -> Path:
    """`samples` as a file that the page takes: a column for each number, and ``label``."""
    rows = samples.x.reshape(len(samples.y), -1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{place}" for place in range(rows.shape[1])), "label"])
        for row, label in zip(np.round(rows, 6).tolist(), samples.y.tolist(), strict=True):
            writer.writerow([*row, label])
    return path
