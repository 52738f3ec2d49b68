"""The pages on the phone have no fault that axe finds, narrow and wide, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import faults
from tests.phone.conftest import NewPhone, World
from tests.system.model import samples

pytestmark = pytest.mark.phone


def faults_everywhere(page: Page) -> list[str]:
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            found += [f"{scheme}, {width} pixels: {fault}" for fault in faults(page)]
    return found


def test_no_page_has_a_fault(world: World, phones: NewPhone, tmp_path: Path) -> None:
    token = world.operator.enrolment_token()
    phone = phones("narrow", tells=False)
    page = phone.open(f"/phone/#join={token}")
    expect(page.get_by_role("button", name="Join")).to_be_visible()
    found = faults_everywhere(page)
    phone.kill()
    page = phone.join(token)
    phone.add_samples(tmp_path, *samples(20, seed=1))
    found += faults_everywhere(page)
    phone.kill()
    page = phone.open("/phone/")
    expect(page.get_by_role("heading", name="What left this device")).to_be_visible()
    assert not found, "\n".join(found)
