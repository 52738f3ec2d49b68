"""Firefox joins, trains and is counted, too: it tells nothing of charger and network, so that its owner does."""

import json
from pathlib import Path

import pytest

from tests.phone.conftest import World
from tests.phone.firefox import FIREFOX, Firefox
from tests.phone.test_training import OF_ONE, delivered, device_named
from tests.system.model import samples

pytestmark = [pytest.mark.phone, pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")]
TEXT = "document.querySelector('main').innerText"
JOIN = """
(() => {
  const field = document.getElementById("name");
  field.value = "fox";
  field.form.requestSubmit();
})()
"""
ADD = """
(() => {
  const given = new DataTransfer();
  given.items.add(new File([ROWS], "samples.jsonl"));
  const field = document.getElementById("file");
  field.files = given.files;
  field.dispatchEvent(new Event("change"));
})()
"""


def tap(name: str) -> str:
    return f"[...document.querySelectorAll('button')].find((one) => one.textContent === {json.dumps(name)}).click()"


def test_firefox_trains_and_is_counted(world: World, tmp_path: Path) -> None:
    operator = world.operator
    federation = operator.start_federation("fox", pair=next(world.pairs), plan=OF_ONE, rounds_wanted=1)
    x, y = samples(60, seed=15)
    rows = "\n".join(json.dumps({"x": one.ravel().tolist(), "y": int(label)}) for one, label in zip(x, y, strict=True))
    with Firefox(tmp_path / "profile") as firefox:
        firefox.open(f"{world.url}/phone/#join={operator.enrolment_token(tag='fox')}")
        firefox.wait_for("document.getElementById('name')", within_s=60)
        assert firefox.evaluate("location.hash") == ""
        firefox.evaluate(JOIN)
        firefox.wait_for("document.getElementById('file')", within_s=60)
        assert firefox.evaluate("crossOriginIsolated") is True
        firefox.evaluate(ADD.replace("ROWS", json.dumps(rows)))
        firefox.wait_for(f"{TEXT}.includes('Samples in this browser: 60')", within_s=60)
        assert firefox.evaluate(f"{TEXT}.includes('cannot tell whether it is charging')")
        firefox.evaluate(tap("It is on the charger"))
        firefox.wait_for(f"{TEXT}.includes('You said that it is on the charger')", within_s=60)
        firefox.evaluate(tap("It is on Wi-Fi"))
        round_ = operator.ended_round(federation, 1, within_s=240)
        firefox.wait_for(f"{TEXT}.includes('round 1 of fox, counted')", within_s=60)
    assert round_["state"] == "published"
    its = device_named(world, "fox")
    assert delivered(round_) == [its["id"]]
    assert its["conditions"]["confirmed"] == ["charging", "network"]
