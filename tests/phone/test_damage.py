"""What a browser's disk has damaged is not worked with, and the owner is told."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.system.model import samples

pytestmark = pytest.mark.phone
FLIP = """async ([name, key]) => {
  const done = request => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await done(indexedDB.open("coterie-device"));
  const store = database.transaction(name, "readwrite").objectStore(name);
  const row = await done(store.get(key));
  const flipped = (row.x === undefined) ? { ...row, seal: row.seal.fill(1) } : { ...row, x: row.x.fill(1) };
  await done(store.keyPath === null ? store.put(flipped, key) : store.put(flipped));
  database.close();
}"""


def test_a_damaged_sample_is_removed_and_a_damaged_identity_joins_again(
    world: World, phones: NewPhone, tmp_path: Path
) -> None:
    phone = phones("worn")
    page = phone.join(world.operator.enrolment_token())
    phone.add_samples(tmp_path, *samples(20, seed=5))
    phone.kill()
    page = flipped(phone.open("/healthz"), "samples", 3)
    page.goto("/phone/")
    expect(page.get_by_role("heading", name="Samples in this browser: 19")).to_be_visible()
    damage = damage_of(page)
    expect(damage).to_contain_text("a sample was damaged on the disk, and removed")
    assert not (found := faults_everywhere(page)), "\n".join(found)
    damage.get_by_role("button", name="I have read it").click()
    expect(damage).to_have_count(0)
    phone.kill()
    page = flipped(phone.open("/healthz"), "values", "identity")
    page.goto("/phone/")
    expect(damage_of(page)).to_contain_text("who this device is was damaged on the disk: join again")
    assert not (found := faults_everywhere(page)), "\n".join(found)
    phone.kill()
    page = phone.join(world.operator.enrolment_token())
    expect(page.get_by_role("heading", name="Samples in this browser: 19")).to_be_visible()
    expect(damage_of(page)).to_contain_text("join again")


def flipped(page: Page, store: str, key: int | str) -> Page:
    """With a row of the device's that is not what was written, on a page of the same origin that runs no device."""
    page.evaluate(FLIP, [store, key])
    return page


def damage_of(page: Page) -> Locator:
    return page.locator("#damage")
