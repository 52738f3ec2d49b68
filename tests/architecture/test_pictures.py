"""The documentation shows every page of the console, light and dark, and its pictures stay small."""

import re

import pytest

from tests.console.pages import PAGES
from tests.console.screenshots import ON_A_PHONE, PICTURES, SCHEMES
from tests.system.processes import ROOT

MOST_BYTES = 130_000
MOST_BYTES_TOGETHER = 5_200_000
SHOWN = (*PAGES, "sign-in")
WANTED = {f"{name}-{scheme}.webp" for name in SHOWN for scheme in SCHEMES} | {
    f"{name}-narrow.webp" for name in ON_A_PHONE
}


def test_every_page_is_shown() -> None:
    shown = re.findall(r'src="images/console/([^"]+)"', (ROOT / "docs" / "console.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(WANTED)


def test_there_is_a_picture_of_every_page_and_no_other() -> None:
    assert {picture.name for picture in PICTURES.iterdir()} == WANTED


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_picture_is_small(name: str) -> None:
    assert (PICTURES / name).stat().st_size <= MOST_BYTES


def test_all_pictures_together_are_small() -> None:
    assert sum(picture.stat().st_size for picture in PICTURES.iterdir()) <= MOST_BYTES_TOGETHER
