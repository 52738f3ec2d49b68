"""Data of the phone's own: what it feels, pictures and words become samples where the model takes them."""

import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from coterie_recipes.har.generator import ACTIVITIES
from coterie_recipes.next_word.generator import WORDS
from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import device_named
from tests.system.eventually import eventually
from tests.system.operator_client import Json

pytestmark = pytest.mark.phone
WAITING: Json = {"pace": {"kind": "sync", "target_updates": 2, "min_updates": 2}}
"""Of two devices: one alone does not train meanwhile."""
ALONE: Json = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.05},
    "pace": {"kind": "sync", "target_updates": 1, "min_updates": 1, "over_selection": 1},
}
FEEL = """
([seconds, from]) => {
  for (let at = 0; at <= seconds * 60; at += 1) {
    const swing = Math.sin(at / 5) * 3;
    const acceleration = { x: swing, y: 0.5, z: 9.81 };
    const event = new DeviceMotionEvent("devicemotion", { accelerationIncludingGravity: acceleration, interval: 16 });
    Object.defineProperty(event, "timeStamp", { value: from + at * 1000 / 60 });
    dispatchEvent(event);
  }
}
"""
KEPT = """
async () => {
  const db = await new Promise((done) => {
    indexedDB.open("coterie-device").onsuccess = (e) => done(e.target.result);
  });
  const rows = await new Promise((done) => {
    db.transaction("samples").objectStore("samples").getAll().onsuccess = (e) => done(e.target.result);
  });
  db.close();
  return rows.map(({ x, label }) => [[...x], label]);
}
"""


def kept(page: Page) -> list[tuple[NDArray[np.float32], int]]:
    """The samples that the browser has stored."""
    return [(np.array(x, np.float32), label) for x, label in page.evaluate(KEPT)]


def offered(page: Page) -> list[str]:
    return [name for name in ("motion", "pictures", "words") if page.locator(f"#{name}").is_visible()]


def png(points: NDArray[np.uint8]) -> bytes:
    """[height, width, 3] as a file."""
    height, width, _ = points.shape
    rows = b"".join(b"\0" + row.tobytes() for row in points)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_motion_becomes_windows_of_acceleration(
    world: World, phones: NewPhone, recipe_pairs: Mapping[str, str]
) -> None:
    operator = world.operator
    federation = operator.start_federation("har", pair=recipe_pairs["har"], plan=ALONE, rounds_wanted=1)
    phone = phones("walker", permissions=("accelerometer", "gyroscope"))
    page = phone.join(operator.enrolment_token(tag="har"))
    part = page.locator("#motion")
    expect(part).to_be_visible()
    assert offered(page) == ["motion"]
    part.get_by_label("What you do").select_option(ACTIVITIES[1])
    part.get_by_role("button", name="Record").click()
    expect(part.get_by_role("status")).to_have_text("Recording.")
    page.evaluate(FEEL, [10 + 4.5 * 2.56, 1e6])
    expect(part.get_by_role("status")).to_have_text("Recording: 4 samples.")
    expect(part).to_contain_text("The model says:")
    assert not (found := faults_everywhere(page)), "\n".join(found)
    part.get_by_role("button", name="Stop").click()
    expect(part.get_by_role("status")).to_have_text("Recorded: 4 samples.")
    samples = kept(page)
    assert [(x.shape, label) for x, label in samples] == [((3 * 128,), 1)] * 4
    across, _, down = samples[2][0].reshape(3, 128)
    assert np.ptp(across) == pytest.approx(2 * 3 / 9.80665, rel=0.02)
    np.testing.assert_allclose(down, 9.81 / 9.80665, rtol=1e-5)
    assert operator.ended_round(federation, 1, within_s=120)["state"] == "published"
    assert device_named(world, "walker")["metadata"]["samples"] == 4


def test_motion_that_is_refused_says_so(world: World, phones: NewPhone, recipe_pairs: Mapping[str, str]) -> None:
    world.operator.start_federation("still", pair=recipe_pairs["har"], plan=WAITING, rounds_wanted=1)
    phone = phones("still")
    page = phone.join(world.operator.enrolment_token(tag="still"))
    page.evaluate("DeviceMotionEvent.requestPermission = async () => 'denied'")
    page.locator("#motion").get_by_role("button", name="Record").click()
    expect(page.locator("#motion").get_by_role("status")).to_contain_text("Motion is not allowed to this page")


def test_pictures_become_samples_of_the_models_size(
    world: World, phones: NewPhone, recipe_pairs: Mapping[str, str], tmp_path: Path
) -> None:
    operator = world.operator
    federation = operator.start_federation("photos", pair=recipe_pairs["photos"], plan=ALONE, rounds_wanted=1)
    phone = phones("camera")
    page = phone.join(operator.enrolment_token(tag="photos"))
    part = page.locator("#pictures")
    expect(part).to_be_visible()
    assert offered(page) == ["pictures"]
    points = np.zeros((120, 200, 3), np.uint8)
    points[:, :40] = points[:, 160:] = (0, 0, 255)  # of what is cut away
    points[:60, 40:160] = (255, 0, 0)
    points[60:, 40:160] = (0, 255, 0)
    (tmp_path / "wide.png").write_bytes(png(points))
    (tmp_path / "none.png").write_bytes(b"no picture")
    file = part.get_by_label("Add pictures")
    file.set_input_files([tmp_path / "wide.png", tmp_path / "none.png"])
    expect(page.get_by_role("status").first).to_contain_text("none.png is no picture that this browser reads")
    assert kept(page) == [], "all of them or none"
    file.set_input_files(tmp_path / "wide.png")
    expect(page.locator("#labels")).to_contain_text("1 samples have no label")
    part.get_by_label("What they show").select_option("ring")
    file.set_input_files([tmp_path / "wide.png"] * 3)
    expect(part.get_by_role("status")).to_contain_text("The model says:")
    assert operator.ended_round(federation, 1, within_s=120)["state"] == "published"
    samples = kept(page)
    assert [label for _, label in samples] == [1] * 3
    picture = samples[0][0].reshape(3, 16, 16)
    np.testing.assert_allclose(picture[2], 0, atol=0.02)
    np.testing.assert_allclose(picture[0, :7], 1, atol=0.02)
    np.testing.assert_allclose(picture[1, 9:], 1, atol=0.02)
    assert not (found := faults_everywhere(page)), "\n".join(found)


def test_typed_words_become_samples_and_are_suggested(
    world: World, phones: NewPhone, recipe_pairs: Mapping[str, str]
) -> None:
    operator = world.operator
    operator.start_federation("next_word", pair=recipe_pairs["next_word"], plan=WAITING, rounds_wanted=1)
    phone = phones("writer")
    page = phone.join(operator.enrolment_token(tag="next_word"))
    part = page.locator("#words")
    expect(part).to_be_visible()
    assert offered(page) == ["words"]
    field, suggested = part.get_by_label("Write here"), part.get_by_role("group", name="Suggested words")
    expect(suggested.get_by_role("button")).to_have_count(3)
    field.fill(f"{WORDS[3]} zebra {WORDS[9]}. {WORDS[5][:2]}")
    expect(suggested.get_by_role("button").first).to_have_text(re.compile(f"^{WORDS[5][:2]}"))
    suggested.get_by_role("button").first.click()
    written = field.input_value()
    assert written.startswith(f"{WORDS[3]} zebra {WORDS[9]}. {WORDS[5][:2]}")
    assert written.rstrip().rsplit(" ", 1)[1] in WORDS
    part.get_by_role("button", name="Learn from this").click()
    expect(page.get_by_role("status").first).to_contain_text("3 words were learned from")
    expect(page.get_by_role("status").first).to_contain_text("1 are none that the model knows")
    expect(field).to_have_value("")
    last = WORDS.index(written.rstrip().rsplit(" ", 1)[1])
    assert [(x.tolist(), label) for x, label in kept(page)] == [
        ([0, 0, 0, 0, 0], 3),
        ([0, 0, 0, 3, 0], 9),
        ([0, 0, 0, 0, 0], last),
    ]
    assert not (found := faults_everywhere(page)), "\n".join(found)
    assert eventually(lambda: device_named(world, "writer")["metadata"]["samples"] == 3)
    assert device_named(world, "writer")["metadata"]["labels"]["implied"] == 3
    receipts = page.locator("#receipts").inner_text()
    assert WORDS[9] not in receipts
