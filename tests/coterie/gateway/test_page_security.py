"""A cookie that came over TLS goes over TLS alone."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("secure", [True, False])
def test_cookies_are_secure_where_the_request_was(secure: bool) -> None:
    answer = Client().get("/api/session/", secure=secure)
    assert bool(answer.cookies["csrftoken"]["secure"]) == secure


def test_a_form_comes_back_through_a_proxy_that_tells_no_scheme(settings) -> None:
    settings.ALLOWED_HOSTS = ["fleet.example"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://fleet.example"]
    browser = Client(enforce_csrf_checks=True, headers={"host": "fleet.example", "origin": "https://fleet.example"})
    token = browser.get("/sign-in/").cookies["csrftoken"].value
    form = {"username": "ada", "password": "guessed", "csrfmiddlewaretoken": token}
    assert browser.post("/sign-in/", form).status_code == 200, "the form again, and no refusal as a forgery"
