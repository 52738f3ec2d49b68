"""What all tests share: the order in which they are run, and what the garbage collector looks at."""

import gc

import pytest

gc.disable()  # until all is imported: nothing of that is garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """System tests first: they wait much, and whichever file began last would be waited for alone."""
    items.sort(key=lambda item: "tests/system/" not in item.nodeid)


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end: no collection has to walk a million objects to learn that.

    Nor does one pay after 700 new objects, of which a compilation makes millions.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
