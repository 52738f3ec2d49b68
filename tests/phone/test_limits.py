"""When a phone's owner lets it train, beside the plan: kept, in the agent's words, and only what browsers tell."""

import os

import pytest
from playwright.sync_api import Page, expect

from coterie_agent.policy import judge
from coterie_wire.conditions import Conditions, Requirements
from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere

pytestmark = pytest.mark.phone
HERE = "UTC"


def sentences(owner: Requirements, conditions: Conditions, hour: int) -> list[str]:
    """What an agent would say."""
    return [reason.sentence for reason in judge(None, owner, conditions, hour)]


def local_hour(page: Page) -> int:
    return int(page.evaluate("new Date().getHours()"))


def test_the_owner_says_when_it_may_train(world: World, phones: NewPhone) -> None:
    phone = phones("limited", zone=HERE)
    page = phone.join(world.operator.enrolment_token())
    limits, now = page.locator("#limits"), page.locator("#now")
    expect(limits.get_by_label("only while it charges")).to_be_checked()
    hour = local_hour(page)
    begin, end = (hour + 2) % 24, (hour + 4) % 24
    limits.get_by_label("from", exact=True).fill(str(begin))
    limits.get_by_role("button", name="Save the limits").click()
    assert limits.get_by_label("to", exact=True).evaluate("field => field.validationMessage") == (
        "Give both hours, or none."
    )
    limits.get_by_label("to", exact=True).fill(str(end))
    limits.get_by_role("button", name="Save the limits").click()
    ready = Conditions(charging="yes", network="wifi")
    (sentence,) = sentences(Requirements(hours=(begin, end)), ready, hour)
    outside = sentence.partition("; ")[2]  # the hour may have passed meanwhile
    expect(now).to_contain_text(outside)
    limits.get_by_label("only on Wi-Fi or Ethernet").uncheck()
    limits.get_by_label("from", exact=True).fill("")
    limits.get_by_label("to", exact=True).fill("")
    limits.get_by_role("button", name="Save the limits").click()
    expect(now).not_to_contain_text(outside)
    phone.set_charging(False)
    (on_battery,) = sentences(Requirements(unmetered=False), Conditions(charging="no", network="metered"), hour)
    phone.set_network("cellular4g")
    expect(now).to_contain_text(on_battery)
    expect(now).not_to_contain_text("metered")
    page.reload()
    expect(limits.get_by_label("only on Wi-Fi or Ethernet")).not_to_be_checked()
    expect(limits.get_by_label("from", exact=True)).to_have_value("")
    if pictures := os.environ.get("PICTURES"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in (320, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                limits.screenshot(path=f"{pictures}/phone-limits-{scheme}-{width}.png")
    assert not (found := faults_everywhere(page)), "\n".join(found)


def test_where_the_browser_tells_whether_somebody_uses_it_the_owner_may_ask_for_that(
    world: World, phones: NewPhone
) -> None:
    phone = phones("idle")
    page = phone.join(world.operator.enrolment_token())
    limits, now = page.locator("#limits"), page.locator("#now")
    expect(limits).to_contain_text("once you let it")
    phone.allow_idle_detection()
    phone.set_idle(False)
    limits.get_by_label("only while nobody uses it").check()
    limits.get_by_role("button", name="Save the limits").click()
    (in_use,) = sentences(Requirements(idle=True), Conditions(charging="yes", network="wifi", idle="no"), 0)
    expect(now).to_contain_text(in_use)
    expect(limits).to_contain_text("after a minute without a touch or a key")
    phone.set_idle(True)
    expect(now).not_to_contain_text(in_use)


def test_a_browser_that_does_not_tell_offers_no_such_limit(world: World, phones: NewPhone) -> None:
    phone = phones("blind", tells=False)
    page = phone.join(world.operator.enrolment_token())
    expect(page.locator("#limits").get_by_label("only while nobody uses it")).to_be_disabled()
    expect(page.locator("#limits")).to_contain_text("This browser does not tell whether somebody uses it.")
