"""What all tests share: the order in which they are run."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """System tests first: they wait much, and whichever file began last would be waited for alone."""
    items.sort(key=lambda item: "tests/system/" not in item.nodeid)
