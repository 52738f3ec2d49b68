"""A phone asks its owner what samples show, the least certain first, and tells what that came to."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.phone.conftest import NewPhone, World
from tests.phone.test_page import faults_everywhere
from tests.phone.test_training import device_named
from tests.system.eventually import eventually
from tests.system.model import samples

pytestmark = pytest.mark.phone
PLAN = {"pace": {"kind": "sync", "target_updates": 2, "min_updates": 2}}
"""Of two devices: one alone does not train meanwhile."""


def where_it_is_noon() -> str:
    ahead = 12 - datetime.now(UTC).hour
    return f"Etc/GMT{-ahead:+d}"  # their signs are the other way round


def test_the_owner_is_asked_three_times_a_day(world: World, phones: NewPhone, tmp_path: Path) -> None:
    operator = world.operator
    operator.start_federation("asked", pair=next(world.pairs), plan=PLAN, rounds_wanted=1)
    phone = phones("asked", zone=where_it_is_noon())
    page = phone.join(operator.enrolment_token(tag="asked"))
    x, y = samples(30, seed=4)
    rows = [{"x": one.ravel().tolist(), "y": int(label)} for one, label in zip(x[:10], y[:10], strict=True)]
    rows += [{"x": one.ravel().tolist()} for one in x[10:]]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page.get_by_label("Add samples").set_input_files(tmp_path / "some.jsonl")
    part = page.locator("#labels")
    expect(part.get_by_role("group", name="What is this?")).to_be_visible()
    expect(part).to_contain_text("20 samples have no label")
    if pictures := os.environ.get("PICTURES"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.screenshot(path=f"{pictures}/phone-labels-{scheme}.png", full_page=True)
    assert not (found := faults_everywhere(page)), "\n".join(found)
    part.get_by_role("button", name="class 2", exact=True).click()
    expect(part).to_contain_text("19 samples have no label, 1 have the one that you said")
    part.get_by_role("button", name="Undo the last answer").click()
    expect(part).to_contain_text("20 samples have no label, 0 have")
    for left in (19, 18, 17):
        part.get_by_role("button", name="class 1" if left > 17 else "I do not know", exact=True).click()
        expect(part).to_contain_text(f"{left} samples have no label")
    expect(part).to_contain_text("Nothing more for now.")
    page.reload()
    expect(part).to_contain_text("Nothing more for now.")
    told = {"asked": 2, "unlabelled": 17, "questions": 3, "answers": 2}
    assert eventually(lambda: (found := device_named(world, "asked")["metadata"].get("labels")) == told and found)
    page.get_by_role("button", name="Never ask me").click()
    expect(part).to_contain_text("You are never asked.")
