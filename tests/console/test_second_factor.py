"""A person sets a second factor up in the console, signs in with it, and ends the other session."""

import hashlib
import hmac
import struct
import time
from base64 import b32decode

import pytest
from playwright.sync_api import expect

from tests.console.conftest import PASSWORD, Visit, World, let_in

pytestmark = pytest.mark.console


def code_of(key: str, *, steps_ahead: int = 0) -> str:
    """What an authenticator app shows (RFC 6238)."""
    step = int(time.time()) // 30 + steps_ahead
    digest = hmac.digest(b32decode(key.replace(" ", "")), struct.pack(">Q", step), hashlib.sha1)
    begin = digest[-1] & 15
    (number,) = struct.unpack(">I", digest[begin : begin + 4])
    return f"{(number & 0x7FFFFFFF) % 10**6:06d}"


def test_is_set_up_asked_for_and_sessions_are_ended(world: World, visit: Visit) -> None:
    let_in(world.operator, "sue", role="operator")
    first = visit("/settings?tab=second-factor", name="sue")
    first.get_by_label("Your password").fill(PASSWORD)
    first.get_by_role("button", name="Set it up", exact=True).click()
    expect(first.get_by_role("img", name="QR code for an authenticator app")).to_be_visible()
    key = first.locator("code").first.inner_text()
    first.get_by_role("textbox", name="Code").fill(code_of(key))
    first.get_by_role("button", name="Confirm", exact=True).click()
    expect(first.get_by_text("Keep these recovery codes")).to_be_visible()
    first.goto("about:blank")  # what it would still ask for is refused once it is signed out
    second = visit("/settings?tab=sessions", name="sue")
    expect(second.get_by_role("heading", name="Second factor")).to_be_visible()
    second.get_by_role("textbox", name="Code").fill(code_of(key, steps_ahead=1))  # the present one was used
    second.get_by_role("button", name="Go on").click()
    expect(second.get_by_text("this one")).to_be_visible()
    other = second.get_by_role("row").filter(has_not_text="this one").filter(has_text="127.0.0.1")
    other.first.get_by_role("button", name="Sign out there", exact=True).click()
    expect(second.get_by_text("It is signed out")).to_be_visible()
    first.goto("/devices")
    expect(first.get_by_label("Password")).to_be_visible()
