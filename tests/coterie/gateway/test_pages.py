import re

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from coterie.accounts.services import create_operator
from tests.coterie.world import fleet_of, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(create_operator(username="ada").operator)
    return client


def test_the_fleet_page_shows_devices_rounds_and_reasons(browser: Client) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2)
    device, _ = fleet_of(2)
    device.check_in(timezone.now())
    page = browser.get("/").content.decode()
    for shown in ("digits", "device-0", "device-1", "fleet.never_seen", "2 enrolled, 1 present, 1 ready", "planned"):
        assert shown in page
    assert browser.get("/fleet/now").content.decode().strip() in page


def test_an_empty_fleet_says_so(browser: Client) -> None:
    page = browser.get("/").content.decode()
    assert "No device has joined yet." in page
    assert "No federation yet." in page


def test_what_devices_say_is_never_markup(browser: Client) -> None:
    fleet_of(1)[0].row.__class__.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in browser.get("/").content.decode()


def test_pages_carry_no_inline_script_and_may_load_none(browser: Client) -> None:
    page = browser.get("/")
    assert page["Content-Security-Policy"].startswith("default-src 'self';")
    assert all(re.search(r"\ssrc=", tag) for tag in re.findall(r"<script[^>]*>", page.content.decode()))
    assert b"style=" not in page.content


def test_who_is_not_signed_in_is_asked_to() -> None:
    assert Client().get("/").headers["Location"] == "/sign-in/?next=/"
    assert Client().get("/fleet/now").status_code == 401
    assert Client().get("/healthz").json() == {"status": "ok"}


def test_signs_in_with_name_and_password() -> None:
    _, password = create_operator(username="ada")
    client = Client()
    wrong = client.post("/sign-in/", {"username": "ada", "password": "guessed"})
    assert b"do not match" in wrong.content
    right = client.post("/sign-in/", {"username": "ada", "password": password, "next": "/api/docs/"})
    assert right.headers["Location"] == "/api/docs/"


def test_every_static_file_of_a_page_is_served(browser: Client) -> None:
    for page in ("/", "/api/docs/", "/admin/"):
        for file in re.findall(r'(?:src|href)="(/static/[^"]+)"', browser.get(page).content.decode()):
            assert browser.head(file).status_code == 200, file


def test_the_schema_describes_the_api(browser: Client) -> None:
    schema = browser.get("/api/schema/", headers={"Accept": "application/json"}).json()
    assert {"/api/devices/", "/api/enrolment-tokens/", "/api/tokens/"} <= set(schema["paths"])
    assert schema["components"]["securitySchemes"]["apiToken"]["scheme"] == "bearer"


@pytest.mark.parametrize("model", [model._meta.label for model in admin.site._registry])
def test_the_admin_works_for_every_table(model: str, browser: Client) -> None:
    app, name = model.lower().split(".")
    assert browser.get(f"/admin/{app}/{name}/").status_code == 200
    assert browser.get(f"/admin/{app}/{name}/add/").status_code in (200, 403)
