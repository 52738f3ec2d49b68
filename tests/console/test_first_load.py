"""The first page comes quickly over a slow line: what it fetches is held small."""

import pytest

from tests.console.conftest import Visit
from tests.console.first_load import LARGEST_KB, open_overview
from tests.console.seeded import ADMINISTRATOR, SeededFleet

pytestmark = pytest.mark.console


def test_the_overview_fetches_no_more_than_it_may(visit: Visit, seeded: SeededFleet) -> None:
    page = visit("/", at=seeded.url, name=ADMINISTRATOR, password=seeded.password)
    page.get_by_role("heading", name="Overview").wait_for()
    fetched = open_overview(page)
    assert {one.kind for one in fetched} >= {"scripts", "styles", "fonts"}
    assert all(one.size_bytes > 0 for one in fetched if one.path.endswith((".js", ".css")))
    assert sum(one.size_bytes for one in fetched) <= 1000 * LARGEST_KB, sorted(fetched, key=lambda one: -one.size_bytes)
