"""The twin of a platform's own fleet: rounds are forecast as they open, compared once they close, and replayed."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.federations.models import Federation
from coterie.federations.services import create_federation, start_federation
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Assignment, Round
from coterie.twin import selectors, services
from coterie.twin.models import Forecast
from coterie.twin.selectors import LONGEST, calibration_of, trace_of
from tests.coterie.world import (
    ScriptedDevice,
    fleet_of,
    in_this_process,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db
BEGAN = timezone.now() - timedelta(hours=2)
"""Rounds lie in the past: the views ask the clock."""


def at(seconds: float):  # type: ignore[no-untyped-def]
    return BEGAN + timedelta(seconds=seconds)


def federation_of(**pace: object) -> Federation:
    pair = make_pair()
    make_version(pair)
    wanted = {"kind": "sync", "target_updates": 5, "over_selection": 1, "min_updates": 1, **pace}
    federation = create_federation(name="digits", pair=pair, plan={"pace": wanted}, now=at(0), seed=3)
    start_federation(federation=federation, now=at(0))
    return federation


def hold(federation: Federation, devices: list[ScriptedDevice], number: int, *, takes_s: float = 4.0) -> Round:
    """A round in which each device delivers after so many seconds."""
    begins = 60.0 * number
    for device in devices:
        device.say(at(begins))
    for _ in range(2):  # planned, then opened
        advance_federation(federation_id=federation.pk, now=at(begins))
    assert services.look(now=at(begins)) == 0.0, "a round is under way"
    for index, device in enumerate(devices):
        mine = Assignment.objects.get(round__number=number, device=device.row)
        device.deliver(str(mine.pk), at(begins + takes_s), seed=10 * number + index)
    advance_federation(federation_id=federation.pk, now=at(begins + takes_s))
    merge_round(federation.rounds.get(number=number), clock=lambda: at(begins + takes_s + 1), merger=in_this_process)
    services.look(now=at(begins + takes_s + 2))
    return federation.rounds.get(number=number)


DEVICES, ROUNDS = 5, 7
"""Twenty updates came in the first four rounds; the others are forecast."""


def lived() -> Federation:
    federation, devices = federation_of(), fleet_of(DEVICES)
    for number in range(1, ROUNDS + 1):
        hold(federation, devices, number)
    return federation


@pytest.mark.long
def test_rounds_are_forecast_from_what_was_before_them_and_compared(api: APIClient) -> None:
    federation = lived()
    assert list(Forecast.objects.order_by("round__number").values_list("round__number", flat=True)) == [5, 6, 7]
    one = Forecast.objects.get(round__number=5)
    assert one.history == 20
    assert one.duration_s == pytest.approx(4.0, abs=0.1)
    assert (one.happened_duration_s, one.happened_lost) == (4.0, 0.0)
    assert one.happened_up_bytes is not None and one.happened_up_bytes == pytest.approx(one.up_bytes, rel=0.2)
    told = api.get(f"/api/federations/{federation.pk}/forecasts/").json()
    assert [one["number"] for one in told["forecasts"]] == [7, 6, 5]
    assert {one["figure"]: one["rounds"] for one in told["calibration"]} == {"duration_s": 3, "lost": 3, "up_bytes": 3}
    assert not calibration_of(federation)["lost"].is_believed, "three comparisons prove nothing"

    before = list(Forecast.objects.values())
    services.look(now=at(60 * ROUNDS + 30))
    assert list(Forecast.objects.values()) == before, "looking again changes nothing"

    late = federation.rounds.get(number=7)
    Round.objects.filter(pk=late.pk).update(closed_at=at(60 * 7 + 50))
    Forecast.objects.get(round=late).delete()
    again = services.forecast_round(round_=federation.rounds.get(number=7), now=at(600))
    assert again is not None
    assert (again.history, again.duration_s) == (30, pytest.approx(4.0, abs=0.1)), "it knows nothing of its own round"


def test_a_forecast_reads_no_more_of_the_past_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in {"FEW_PARTS": 3, "PARTS_EACH": 2, "ROUNDS_AT_ONCE": 1}.items():
        monkeypatch.setattr(selectors, name, number)
    newest = lived().rounds.get(number=ROUNDS)
    assert newest.opened_at is not None
    places = selectors.places_of(newest.federation)
    with CaptureQueriesContext(connection) as queries:
        trace = selectors.trace_for_round(newest.federation, places, newest.opened_at)
    asked = sorted({part.asked_s for part in trace.parts})
    assert len(trace.parts) == 2 * DEVICES
    assert len(asked) == 2 and asked[-1] == LONGEST.total_seconds() - 60, "those of the two rounds before"
    reads = [query["sql"] for query in queries if '"rounds_assignment"."offered_at"' in query["sql"]]
    assert len(reads) == 3, "its own round, in which nothing had ended, and those two"


def test_a_fleet_is_told_of_without_names_and_another_plan_is_replayed(api: APIClient) -> None:
    federation = lived()
    trace = trace_of(federation, since=at(0), until=at(7000))
    assert {part.ending for part in trace.parts} == {"delivered"}
    assert len(trace.parts) == DEVICES * ROUNDS
    assert {part.lasted_s for part in trace.parts} == {4.0}
    assert {span.device for span in trace.spans} == set(range(DEVICES))
    answer = api.get(f"/api/federations/{federation.pk}/twin/", {"days": 1})
    assert answer.status_code == 200
    assert answer.json()["devices"] == DEVICES
    for name in ("device-0", str(Assignment.objects.values_list("device", flat=True)[0])):
        assert name not in answer.content.decode()

    path = f"/api/federations/{federation.pk}/twin/replay/"
    own = api.post(path, {"rounds": 5}).json()
    assert (own["happened"]["merged"], own["replayed"]["rounds"]) == (5, 5)
    assert own["replayed"]["median_duration_s"] == pytest.approx(own["happened"]["median_duration_s"], rel=0.15)
    assert own == api.post(path, {"rounds": 5}).json()
    longer = {
        "local": {"kind": "sgd", "epochs": 100},
        "pace": {"kind": "sync", "target_updates": 3, "min_updates": 1},
    }
    assert api.post(path, {"plan": longer}).json()["replayed"]["median_duration_s"] > 5.0
    assert Forecast.objects.count() == 3, "nothing is written"


def test_what_cannot_be_replayed_is_refused(api: APIClient) -> None:
    federation = federation_of()
    fleet_of(3)
    path = f"/api/federations/{federation.pk}/twin/replay/"
    assert api.post(path, {}).json()["code"] == "twin.no_history"
    buffered = api.post(path, {"plan": {"pace": {"kind": "buffered"}}})
    assert (buffered.status_code, buffered.json()["code"]) == (422, "twin.not_replayed")
    assert api.post(path, {"days": 99}).status_code == 400
