"""A list is searched, sorted and downloaded as it is asked for, and what cannot be asked is refused."""

import csv
import gc
from io import StringIO

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from coterie.accounts.models import Operator
from coterie.accounts.services import create_operator
from coterie.merging.models import Update
from coterie.rounds.models import Assignment, Round, RoundEvent
from tests.coterie.downloads import downloaded
from tests.coterie.world import fleet_of, later, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


def test_as_csv_the_whole_list_comes_and_nothing_in_it_is_a_formula(api: APIClient) -> None:
    create_operator(username="bob")
    create_operator(username="-1+cmd")
    answer = api.get("/api/operators/?format=csv&page_size=1&sort=-username")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(StringIO(downloaded(answer).decode())))
    assert [row["username"] for row in rows] == ["bob", "ada", "'-1+cmd"]


def test_a_table_is_read_in_parts_as_the_client_takes_them(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.core.listing.CSV_ROWS_AT_ONCE", 2)
    for name in ("bob", "cyd", "dan", "eve"):
        create_operator(username=name)
    answer = api.get("/api/operators/?format=csv&sort=username")
    assert isinstance(answer, StreamingHttpResponse)

    async def read() -> list[int]:
        parts = aiter(answer)
        lines = [(await anext(parts)).count(b"\n"), (await anext(parts)).count(b"\n")]
        await Operator.objects.filter(username="cyd").adelete()
        return [*lines, *[part.count(b"\n") async for part in parts]]

    assert async_to_sync(read)() == [1, 2, 1, 1], "the columns, two rows, one that is left of two, one"


def _table(api: APIClient, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(downloaded(api.get(address)).decode())))


@pytest.mark.parametrize("path", ["assignments/?format=csv", "assignments/", "rounds/", "rounds/ROUND/timeline/"])
def test_rows_that_were_sent_are_gone_without_a_collection(api: APIClient, path: str) -> None:
    """A server collects rarely: a long table would lie in its memory until then."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, over_selection=1)
    devices = fleet_of(2)
    for second in range(2):
        for device in devices:
            device.check_in(later(second))
    for seed, device in enumerate(devices):
        device.deliver(str(Assignment.objects.get(device=device.row).pk), later(4), seed=seed)

    address = f"/api/{path.replace('ROUND', str(Round.objects.latest('pk').pk))}"
    gc.collect()
    gc.freeze()  # what is alive now is not looked at below: those are a million objects
    gc.disable()
    try:
        shown = _table(api, address) if "csv" in path else api.get(address).json()["results"]
        assert len(shown) > 0
        assert not [one for one in gc.get_objects() if type(one) in (Assignment, Update, Round, RoundEvent)]
    finally:
        gc.enable()


def test_every_word_of_a_search_must_occur(api: APIClient) -> None:
    for name in ("kitchen pi", "kitchen", "hall pi"):
        create_operator(username=name)
    found = api.get("/api/operators/?search=PI KITCHEN").json()["results"]
    assert [row["username"] for row in found] == ["kitchen pi"]


@pytest.mark.parametrize("query", ["sort=password", "sort=--username", "search=%00", "role=king", "page=0", "page=x"])
def test_what_cannot_be_asked_is_refused(api: APIClient, query: str) -> None:
    make_device("kitchen")
    assert api.get(f"/api/operators/?{query}").status_code in (400, 404)


@pytest.mark.parametrize("format_", ["", "&format=csv"])
def test_a_parameter_that_is_none_of_the_lists_is_refused(api: APIClient, format_: str) -> None:
    answer = api.get(f"/api/devices/?nothing=1&page=1&page_size=2&sort=name&search=hall&tag=kiosk{format_}")
    assert (answer.status_code, answer.json()["code"]) == (400, "rest.invalid")
    assert list(answer.json()["fields"]) == ["nothing"]
    for known in ("tag", "status", "search", "sort", "page", "page_size", "format"):
        assert known in answer.json()["detail"], known


@pytest.mark.parametrize("given", ["0", "501", "-1", "many", "1e3", "9" * 5000, "²", ""])
def test_a_size_of_pages_that_there_is_not_is_refused(api: APIClient, given: str) -> None:
    answer = api.get("/api/operators/", {"page_size": given})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["page_size"])


def test_a_list_that_is_not_searched_or_sorted_says_so(api: APIClient) -> None:
    for name in ("search", "sort"):
        answer = api.get(f"/api/profiles/?{name}=name")
        assert (answer.status_code, list(answer.json()["fields"])) == (400, [name])


def test_the_pages_of_what_belongs_to_a_row_take_nothing_else(api: APIClient) -> None:
    address = f"/api/devices/{make_device('kitchen').pk}/timeline/"
    assert api.get(f"{address}?page=1&page_size=2&format=json").status_code == 200
    answer = api.get(f"{address}?tag=kiosk")
    assert (answer.status_code, answer.json()["detail"].count("page_size")) == (400, 1)


def test_every_list_takes_each_parameter_of_its_description(api: APIClient) -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    asked = 0
    for path, operations in paths.items():
        described = operations.get("get", {}).get("parameters", ())
        names = [one["name"] for one in described if one["in"] == "query"]
        if "page_size" in names and "{" not in path:
            answer = api.get(path, dict.fromkeys(names, ""))
            assert "no such parameter" not in (answer.json()["detail"] if answer.status_code == 400 else ""), path
            asked += 1
    assert asked > 30
