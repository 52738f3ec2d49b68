"""Who is told of what: a channel with quiet hours, a test, the log that says what became of it, and a rule."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Visit
from tests.console.seeded import ADMINISTRATOR, SeededFleet

pytestmark = pytest.mark.console
CHANNEL, RULE = "night shift", "faults of the night"


def test_a_channel_is_made_and_tried_and_a_rule_tells_it(visit: Visit, seeded: SeededFleet) -> None:
    page = visit("/alerts?tab=channels", at=seeded.url, name=ADMINISTRATOR, password=seeded.password)
    _make_a_channel(page)
    channel = page.get_by_role("table", name="Channels").get_by_role("row").filter(has_text=CHANNEL)
    expect(channel).to_contain_text("22:00–22:01 UTC")
    channel.get_by_role("button", name="Send a test", exact=True).click()
    page.get_by_role("tab", name="Log").click()
    notice = page.get_by_role("table", name="Notices").get_by_role("row").filter(has_text=CHANNEL)
    expect(notice.first).to_contain_text("test")
    page.get_by_role("tab", name="Rules").click()
    page.get_by_label("Name", exact=True).fill(RULE)
    page.get_by_role("combobox", name="Tell").or_(page.get_by_label("Tell", exact=True)).first.click(force=True)
    page.get_by_role("option", name=CHANNEL).click()
    page.get_by_role("button", name="Make a rule", exact=True).click()
    expect(page.get_by_role("table", name="Rules")).to_contain_text(RULE)


def _make_a_channel(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill(CHANNEL)
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name=re.compile("webhook", re.IGNORECASE)).click()
    page.get_by_label("URL").fill("https://8.8.8.8/hook")
    page.get_by_label("Quiet from").fill("22:00")
    page.get_by_label("Quiet until").fill("22:01")
    page.get_by_role("combobox", name="Time zone").fill("UTC")
    page.get_by_role("option", name="UTC", exact=True).click()
    page.get_by_role("button", name="Make a channel", exact=True).click()
    expect(page.get_by_text(f"The secret of {CHANNEL} is shown once")).to_be_visible()
