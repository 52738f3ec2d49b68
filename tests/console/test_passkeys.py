"""A person registers a passkey in the console, signs in with it, alone and after the password, and removes it."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import sign_in
from tests.console.conftest import PASSWORD, Visit, World, let_in

pytestmark = pytest.mark.console

SETTINGS = "/settings?tab=second-factor"
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
"""Of Chromium's virtual authenticators: a laptop with a fingerprint reader and a person who touches it."""


def give_device(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})


def test_is_registered_signs_in_and_is_removed(world: World, visit: Visit) -> None:
    let_in(world.operator, "pat", role="operator")
    here = world.url.replace("127.0.0.1", "localhost")  # a page at a number has no passkeys
    page = visit(SETTINGS, at=here, name="pat")
    give_device(page)
    page.get_by_label("Name of the passkey").fill("laptop")
    page.get_by_role("textbox", name="Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Register a passkey", exact=True).click()
    expect(page.get_by_text("Keep these recovery codes")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="laptop")
    expect(row.locator("time")).to_have_count(1)

    page.context.clear_cookies()
    page.goto(SETTINGS)
    page.get_by_role("button", name="Use a passkey").click()
    expect(row.locator("time")).to_have_count(2)  # registered, and last used

    page.context.clear_cookies()
    sign_in(page, SETTINGS, name="pat", password=PASSWORD)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    page.get_by_role("button", name="Use a passkey").click()

    row.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("No passkey yet")).to_be_visible()
    expect(page.get_by_text("your password alone signs you in")).to_be_visible()
