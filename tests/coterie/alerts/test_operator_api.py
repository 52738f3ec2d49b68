"""Channels, rules and the log over HTTP: what is secret is shown once or never."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.alerts.bundling import bundle_all
from coterie.alerts.evaluating import apply
from coterie.alerts.watching import Sighting
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole

pytestmark = pytest.mark.django_db
URL = "https://8.8.8.8/services/T0PS3CRET"


def make(api: APIClient, **more: object) -> dict[str, object]:
    answer = api.post("/api/alert-channels/", {"name": "on call", "kind": "webhook", "url": URL, **more})
    assert answer.status_code == 201, answer.content
    made: dict[str, object] = answer.json()
    return made


def test_a_channels_url_is_never_shown_and_its_secret_once(api: APIClient) -> None:
    made = make(api)
    assert str(made["secret"]).startswith("whsec_")
    assert str(made["place"]).startswith("8.8.8.8 · ")
    api.patch(f"/api/alert-channels/{made['id']}/", {"url": f"{URL}/2"})
    api.post(f"/api/alert-channels/{made['id']}/test/")
    for path in ("alert-channels/", f"alert-channels/{made['id']}/", "alert-notices/", "audit/"):
        content = api.get(f"/api/{path}").content
        assert b"T0PS3CRET" not in content
        assert str(made["secret"]).encode() not in content
    changed = Entry.objects.filter(action="alerts.change_channel").get()
    assert changed.before["place"] != changed.after["place"]


def test_the_log_says_what_was_told_whom_and_how_it_stands(api: APIClient) -> None:
    channel = make(api)["id"]
    wanted = {"name": "disk", "kind": "repair", "code": "disk_almost_full", "channels": [channel]}
    rule = api.post("/api/alert-rules/", wanted).json()["id"]
    apply(rule_id=rule, seen=[Sighting("disk", "error", "It is full.", "")], now=timezone.now())
    (held,) = api.get("/api/alert-notices/?state=held").json()["results"]
    assert (held["state"], held["rule_name"], held["channel_name"]) == ("held", "disk", "on call")
    bundle_all(now=timezone.now())
    (notice,) = api.get("/api/alert-notices/?state=pending&change=firing").json()["results"]
    assert (notice["sentence"], notice["resolved_at"]) == ("It is full.", None)
    assert api.get("/api/alert-rules/").json()["results"][0]["firing"] == 1
    assert api.get("/api/alert-incidents/?firing=true").json()["count"] == 1
    assert api.get(f"/api/alert-incidents/?firing=false&rule={rule}").json()["count"] == 0
    refused = api.delete(f"/api/alert-channels/{channel}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "alerts.channel_in_use")


def test_operators_make_rules_and_administrators_channels(api: APIClient) -> None:
    channel = make(api)["id"]
    api.force_authenticate(create_operator(username="bob", role=OperatorRole.OPERATOR).operator)
    refused = api.post("/api/alert-channels/", {"name": "x", "kind": "slack", "url": URL})
    assert (refused.status_code, refused.json()["code"]) == (403, "acting.role_needed")
    body = {"name": "x", "kind": "online_below", "threshold": 0.5, "channels": [channel]}
    assert api.post("/api/alert-rules/", body).status_code == 201
    api.force_authenticate(create_operator(username="vera", role=OperatorRole.VIEWER).operator)
    assert api.post("/api/alert-rules/", {**body, "name": "y"}).status_code == 403
    assert api.get("/api/alert-rules/").json()["count"] == 1
