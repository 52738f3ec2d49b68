import csv
from pathlib import Path

import numpy as np
import pytest

from coterie.demo.chromium import BrowserFailed, Chromium, find_chromium
from coterie.demo.digits import Samples
from coterie.demo.phone import write_csv
from coterie.demo.report import PhoneShare
from coterie.demo.view import AssignmentRow, RoundRow, UpdateRow


def part(name: str, *, counts: bool) -> AssignmentRow:
    return AssignmentRow(
        device=name,
        device_name=name,
        state="delivered" if counts else "released",
        reason_sentence="",
        stage="",
        steps_done=0,
        steps_total=0,
        delivered=UpdateRow(10) if counts else None,
    )


def test_its_share_counts_invitations_and_updates() -> None:
    rounds = [
        RoundRow(1, 1, "published", "", {}, [part("phone", counts=True), part("pi", counts=True)]),
        RoundRow(2, 2, "published", "", {}, [part("pi", counts=True)]),
        RoundRow(3, 3, "abandoned", "", {}, [part("phone", counts=False)]),
    ]
    assert PhoneShare.of(rounds, "phone") == PhoneShare(invited=2, counted=1)


def test_its_samples_are_a_file_that_the_page_takes(tmp_path: Path) -> None:
    x = np.array([[[[0, 0.0625], [0.5, 1]]], [[[1, 0], [0, 0]]]], np.float32)
    path = write_csv(tmp_path / "s.csv", Samples(x, np.array([7, 0])))
    rows = list(csv.reader(path.read_text().splitlines()))
    assert rows[0] == ["x0", "x1", "x2", "x3", "label"]
    assert [[float(field) for field in row] for row in rows[1:]] == [[0, 0.0625, 0.5, 1, 7], [1, 0, 0, 0, 0]]


def test_a_browser_that_ends_at_once_says_so(tmp_path: Path) -> None:
    with pytest.raises(BrowserFailed, match="ended"):
        Chromium("/bin/true", profile=tmp_path)


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
def test_a_browser_does_what_it_is_told_and_ends(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<input type=file id=file>")
    (tmp_path / "given.csv").write_text("a,b")
    with Chromium(find_chromium() or "", profile=tmp_path / "profile") as browser:
        browser.before_each_page("globalThis.early = 'here'")
        browser.open((tmp_path / "page.html").as_uri())
        browser.wait_for("document.getElementById('file') !== null", within_s=20)
        browser.choose_file("#file", tmp_path / "given.csv")
        assert browser.evaluate("[early, document.getElementById('file').files[0].name]") == ["here", "given.csv"]
        with pytest.raises(BrowserFailed, match="nowhere is not defined"):
            browser.evaluate("nowhere()")
        with pytest.raises(BrowserFailed, match="not within 0 s"):
            browser.wait_for("false", within_s=0)
    with pytest.raises(BrowserFailed):
        browser.evaluate("1")
