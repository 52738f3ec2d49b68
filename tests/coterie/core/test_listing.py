"""A list is searched, sorted and downloaded as it is asked for, and what cannot be asked is refused."""

import csv
from io import StringIO

import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from tests.coterie.world import make_device

pytestmark = pytest.mark.django_db


def test_as_csv_the_whole_list_comes_and_nothing_in_it_is_a_formula(api: APIClient) -> None:
    create_operator(username="bob")
    create_operator(username="-1+cmd")
    answer = api.get("/api/operators/?format=csv&page_size=1&sort=-username")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(StringIO(answer.getvalue().decode())))
    assert [row["username"] for row in rows] == ["bob", "ada", "'-1+cmd"]


def test_every_word_of_a_search_must_occur(api: APIClient) -> None:
    for name in ("kitchen pi", "kitchen", "hall pi"):
        create_operator(username=name)
    found = api.get("/api/operators/?search=PI KITCHEN").json()["results"]
    assert [row["username"] for row in found] == ["kitchen pi"]


@pytest.mark.parametrize("query", ["sort=password", "sort=--username", "search=%00", "role=king", "page=0", "page=x"])
def test_what_cannot_be_asked_is_refused(api: APIClient, query: str) -> None:
    make_device("kitchen")
    assert api.get(f"/api/operators/?{query}").status_code in (400, 404)
