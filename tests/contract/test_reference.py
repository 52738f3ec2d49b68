"""The generated reference says what the source says."""

from pathlib import Path

import pytest

from tests.contract.reference import PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_page_is_what_the_source_gives(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run `make reference` and commit what it wrote"
