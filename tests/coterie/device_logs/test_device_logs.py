"""Logs of devices on the platform: who is asked, every state of a request, and what is kept for how long."""

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest
from rest_framework.test import APIClient

from coterie.core.acting import acting_as, current_actor
from coterie.device_logs.errors import AlreadyAsked, CannotSend, LogHasEnded, NotAllowed, UnknownLog
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.device_logs.pruning import old_logs
from coterie.device_logs.reporting import record_decision, store_lines
from coterie.device_logs.selectors import KEEP_DAYS, requested_logs
from coterie.device_logs.services import WAIT, cancel_log, request_log
from coterie.device_logs.sweeping import sweep
from coterie.fleet.models import Device
from coterie.fleet.services import revoke_device
from coterie.owners.receipts import receipts_of
from coterie_wire.conditions import Reason
from coterie_wire.device_log import DeliverLog, LogLevel, LogLine, ReportLog
from tests.coterie.downloads import downloaded
from tests.coterie.world import START, ScriptedDevice, later, make_device

pytestmark = pytest.mark.django_db
REASON = Reason("logs.allowed", "its owner allows it")
LOGGED: tuple[tuple[LogLevel, str], ...] = (
    ("info", "in contact over the socket"),
    ("warning", "no contact with the platform"),
    ("error", "disk full"),
)
LINES = tuple(
    LogLine(at=START.timestamp() + number, level=level, source="contact", text=text)
    for number, (level, text) in enumerate(LOGGED)
)


@pytest.fixture
def device() -> Device:
    """One whose agent sends logs."""
    device = make_device("kitchen")
    device.capabilities = {"logs": {}}
    device.save()
    return device


def asked(device: Device) -> DeviceLog:
    return request_log(device=device, hours=24, why="it never trains", now=START)


def says(device: Device, log: DeviceLog, outcome: Literal["asking", "allowed", "refused"]) -> None:
    record_decision(device=device, report=ReportLog(str(log.pk), outcome, REASON), now=later(1))
    log.refresh_from_db()


def sends(device: Device, log: DeviceLog, lines: tuple[LogLine, ...] = LINES) -> None:
    store_lines(device=device, delivery=DeliverLog(str(log.pk), lines, left_out=4), now=later(2))
    log.refresh_from_db()


def delivered(device: Device) -> DeviceLog:
    log = asked(device)
    says(device, log, "allowed")
    sends(device, log)
    return log


def test_a_device_hears_of_it_until_it_has_answered(device: Device) -> None:
    log = asked(device)
    scripted = ScriptedDevice(device)
    heard = scripted.say(later(0)).log
    assert heard is not None
    assert (heard.request, heard.hours, heard.why, heard.keep_days) == (str(log.pk), 24, "it never trains", KEEP_DAYS)
    says(device, log, "asking")
    assert scripted.say(later(1)).log == heard
    says(device, log, "allowed")
    sends(device, log)
    assert scripted.say(later(3)).log is None


def test_an_allowed_one_is_delivered_and_is_a_receipt(device: Device) -> None:
    log = delivered(device)
    assert (log.state, log.reason_sentence) == (
        "delivered",
        "3 lines came, the newest; 4 older ones are more than a delivery holds",
    )
    assert (log.line_count, log.keep_until) == (3, later(2) + timedelta(days=KEEP_DAYS))
    sends(device, log, LINES[:1])  # again, as after an answer that was lost
    assert [line.text for line in log.lines.all()] == [line.text for line in LINES]
    (receipt,) = receipts_of(device)
    assert (receipt.kind, receipt.size_bytes, receipt.count) == ("log", log.size_bytes, 1)
    assert receipt.sentence == "3 lines for the operator who asked; they are removed on 2026-01-31"


def test_lines_that_nobody_allowed_are_not_taken(device: Device) -> None:
    log = asked(device)
    with pytest.raises(NotAllowed):
        sends(device, log)
    says(device, log, "refused")
    with pytest.raises(NotAllowed):
        sends(device, log)
    assert not DeviceLogLine.objects.exists() and log.state == "refused"


@pytest.mark.parametrize("request_of", ["another", "nothing"])
def test_a_device_answers_for_its_own_log_alone(device: Device, request_of: str) -> None:
    log = asked(device)
    name = str(log.pk) if request_of == "another" else "x"
    stranger = make_device("hall")
    with pytest.raises(UnknownLog):
        record_decision(device=stranger, report=ReportLog(name, "allowed", REASON), now=later(1))
    with pytest.raises(UnknownLog):
        store_lines(device=stranger, delivery=DeliverLog(name, LINES), now=later(1))


def test_what_the_owner_has_refused_stays_refused(device: Device) -> None:
    log = asked(device)
    says(device, log, "refused")
    says(device, log, "allowed")
    assert (log.state, log.reason_code) == ("refused", "logs.allowed")


@pytest.mark.parametrize(
    ("capabilities", "says"),
    [
        ({}, "its agent is of a release that does not know how"),
        ({"logs": {"refuses": {"code": "logs.none_kept", "sentence": "a phone keeps no log"}}}, "a phone keeps no log"),
    ],
)
def test_a_device_that_cannot_is_not_asked(capabilities: dict[str, object], says: str) -> None:
    device = make_device("phone")
    Device.objects.filter(pk=device.pk).update(capabilities=capabilities)
    with pytest.raises(CannotSend, match=says):
        asked(device)
    assert requested_logs([device]) == {}


def test_a_device_is_asked_one_at_a_time(device: Device) -> None:
    log = asked(device)
    with pytest.raises(AlreadyAsked, match=str(log.pk)):
        asked(device)
    cancel_log(log=log, now=later(1))
    assert asked(device).pk != log.pk
    with pytest.raises(LogHasEnded):
        cancel_log(log=log, now=later(2))


def test_a_cancelled_one_takes_no_lines(device: Device) -> None:
    log = asked(device)
    says(device, log, "allowed")
    cancel_log(log=log, now=later(1))
    with pytest.raises(NotAllowed):
        sends(device, log)
    assert log.state == "cancelled"


def test_what_nobody_answers_expires(device: Device) -> None:
    log = asked(device)
    sweep(now=START + WAIT)
    log.refresh_from_db()
    assert log.state == "asked"
    sweep(now=START + WAIT + timedelta(seconds=1))
    log.refresh_from_db()
    assert (log.state, log.reason_code) == ("expired", "device_logs.no_answer")


def test_what_a_device_was_asked_that_is_gone_expires_at_once(device: Device) -> None:
    log = asked(device)
    revoke_device(device=device, now=later(1))
    sweep(now=later(2))
    log.refresh_from_db()
    assert (log.state, log.reason_code) == ("expired", "device_logs.gone")
    with pytest.raises(CannotSend, match="no longer in the fleet"):
        asked(device)


def test_lines_go_after_their_time_and_the_request_stays(device: Device) -> None:
    log = delivered(device)
    sweep(now=later(2) + timedelta(days=KEEP_DAYS))
    assert log.lines.count() == 3
    sweep(now=later(3) + timedelta(days=KEEP_DAYS))
    log.refresh_from_db()
    assert (log.lines.count(), log.state, log.line_count) == (0, "delivered", 3)


def test_of_ended_requests_those_that_brought_lines_stay(device: Device) -> None:
    kept = delivered(device)
    refused = asked(device)
    says(device, refused, "refused")
    assert list(old_logs(later(100))) == [refused]
    assert list(old_logs(later(1))) == [] and kept.state == "delivered"


def test_lines_are_searched_filtered_and_downloaded(api: APIClient, device: Device) -> None:
    log = delivered(device)
    path = f"/api/device-logs/{log.pk}/lines/"

    def found(**query: str) -> list[str]:
        return [line["text"] for line in api.get(path, query).json()["results"]]

    assert found() == [line.text for line in LINES]
    assert found(search="contact platform") == ["no contact with the platform"]
    assert found(level="error") == ["disk full"]
    assert api.get(path, {"level": "loud"}).status_code == 400
    columns, row = downloaded(api.get(path, {"search": "disk", "format": "csv"})).decode().splitlines()
    assert (columns, row.endswith(",error,contact,disk full")) == ("id,at,level,source,text", True)
    other = DeviceLog.objects.create(device=make_device("hall"), hours=1, created_at=START, due_at=START + WAIT)
    assert api.get(f"/api/device-logs/{other.pk}/lines/").json()["count"] == 0
    assert api.get("/api/device-logs/00000000-0000-4000-8000-000000000009/lines/").status_code == 404


def test_requests_are_made_listed_and_cancelled(api: APIClient, device: Device) -> None:
    body = {"device": str(device.pk), "hours": 12, "why": "it never trains"}
    made = api.post("/api/device-logs/", body).json()
    assert (made["state"], made["device_name"], made["reason_code"]) == ("asked", "kitchen", "device_logs.waits")
    assert api.post("/api/device-logs/", body).json()["code"] == "device_logs.already_asked"
    assert api.post("/api/device-logs/", {**body, "hours": 169}).status_code == 400
    (listed,) = api.get("/api/device-logs/", {"device": str(device.pk), "active": "true"}).json()["results"]
    assert listed["id"] == made["id"]
    assert api.post(f"/api/device-logs/{made['id']}/cancel/").json()["state"] == "cancelled"
    assert api.get(f"/api/devices/{device.pk}/sends-log/").json() == {"reason_code": "", "reason_sentence": ""}
    phone = make_device("phone")
    assert api.get(f"/api/devices/{phone.pk}/sends-log/").json()["reason_code"] == "device_logs.too_old"


def test_another_project_sees_neither_request_nor_lines(device: Device) -> None:
    delivered(device)
    with acting_as(replace(current_actor(), project=-1)):
        assert not DeviceLog.objects.exists() and not DeviceLogLine.objects.exists()
