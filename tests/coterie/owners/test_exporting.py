"""The export of a device holds every table that knows it, whole, and no secret."""

import json
from collections.abc import Mapping

import msgspec
import pytest
from django.apps import apps
from django.db import models
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.fleet.models import Device, Observation
from coterie.fleet.services import change_device
from coterie.owners import exporting
from coterie.owners.exporting import NAMES, UnknownSection, export_of, page_of
from coterie.owners.sections import ROWS_AT_ONCE, SECTIONS
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db
UNKNOWN_TO = {("owners.forgetting", "device")}
"""Tables that refer to devices and are read otherwise."""


def one_round() -> tuple[ScriptedDevice, ...]:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, over_selection=1.0)
    fleet = tuple(fleet_of(2))
    for device in fleet:
        device.say(later(0))
    for seed, device in enumerate(fleet):
        assignment = device.check_in(later(0)).assignment
        assert assignment is not None, "both were ready when it opened"
        device.deliver(assignment.assignment, later(1), seed=seed)
    sweep(now=later(2))
    merge_round(Round.objects.get(state="merging"), clock=lambda: later(3), merger=in_this_process)
    return fleet


def decoded(rows: tuple[msgspec.Raw, ...]) -> list[Mapping[str, object]]:
    return [json.loads(bytes(row)) for row in rows]


def test_every_table_that_refers_to_devices_is_a_section() -> None:
    refer = {
        (model._meta.label_lower, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and field.related_model is Device
    }
    assert refer - UNKNOWN_TO == {
        (section.model._meta.label_lower, section.by)
        for section in SECTIONS
        if (section.model._meta.label_lower, section.by) in refer
    }


def test_an_export_tells_all_of_a_round() -> None:
    device, other = one_round()
    sections = export_of(device.row, now=later(9)).sections
    assert set(sections) == set(NAMES)
    (update,), (part,) = decoded(sections["updates"]), decoded(sections["assignments"])
    assert (update["id"], update["samples"], update["loss_before"]) == (part["id"], 20, 1.5)
    (receipt,) = decoded(sections["receipts"])
    assert (receipt["kind"], receipt["fate"], receipt["version"]) == ("update", "counted", 2)
    assert receipt["sentence"] == "counted in version 2"
    (told,) = decoded(sections["device"])
    assert told["name"] == device.row.name
    everything = msgspec.json.encode(export_of(device.row, now=later(9))).decode()
    assert other.row.name not in everything and str(other.row.pk) not in everything
    assert device.row.credential_hash not in everything
    assert "credential_hash" not in everything


def test_what_operators_changed_is_told_without_who_they_are() -> None:
    device = make_device("hall")
    change_device(device=device, name="kitchen")
    (entry,) = decoded(export_of(device, now=later(0)).sections["audit"])
    assert (entry["before"], entry["after"]) == ({"name": "hall"}, {"name": "kitchen"})
    assert not {name for name in entry if name.startswith(("actor", "token", "address"))}


def test_pages_are_the_whole_however_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    device = make_device("hall")
    Observation.objects.bulk_create(
        Observation(device=device, at=later(number), conditions={"n": number}, blockers=[])
        for number in range(ROWS_AT_ONCE + 3)
    )
    whole = export_of(device, now=later(0)).sections["observations"]
    assert len(whole) == ROWS_AT_ONCE + 3
    monkeypatch.setattr(exporting, "PAGE_BYTES", 20 * len(bytes(whole[0])))
    pages, after = [page_of(device, section="observations", after="")], "begin"
    while after := pages[-1].after:
        pages.append(page_of(device, section="observations", after=after))
    assert len(pages) > 20
    assert [bytes(row) for page in pages for row in page.rows] == [bytes(row) for row in whole]
    assert page_of(device, section="", after="").sections == NAMES


@pytest.mark.parametrize(("section", "after"), [("passwords", ""), ("updates", "x"), ("receipts", "x")])
def test_what_there_is_not_has_a_code(section: str, after: str) -> None:
    with pytest.raises(UnknownSection) as raised:
        page_of(make_device("hall"), section=section, after=after)
    assert raised.value.code == "owners.unknown_section"


def test_the_api_hands_the_document_out() -> None:
    device, _ = one_round()
    client = APIClient()
    path = f"/api/devices/{device.row.pk}/export/"
    assert client.get(path).status_code in (401, 403)
    client.force_authenticate(create_operator(username="ada").operator)
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert json.loads(answer.content)["format"] == "coterie-platform-export/1"
