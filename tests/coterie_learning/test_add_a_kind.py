"""The page on adding a kind: what it says is run, with nothing else edited."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coterie_learning.custom_kinds import DEVICE_SLOTS, PLATFORM_SLOTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/add-a-kind.md"
FILE = re.compile(r"^`([^`\n]+\.py)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLUGIN = """
import coterie_learning.merge

coterie_learning.merge.__path__.append({directory!r})
"""
FORM = """
import added

from coterie_learning.plan import parse_plan, plan_schema
from coterie_wire.errors import WireError

share = plan_schema()["merge"]["winsorised_mean"]["$defs"]["WinsorisedMean"]["properties"]["share"]
assert share["exclusiveMaximum"] == 0.5 and "either end" in share["description"], share
assert parse_plan({"merge": {"kind": "winsorised_mean", "share": 0.2}}).merge.share == 0.2
try:
    parse_plan({"merge": {"kind": "winsorised_mean", "share": 0.5}})
except WireError as error:
    assert error.code == "plan.invalid" and "winsorised_mean" in error.detail and "share" in error.detail
else:
    raise AssertionError("a share of one half was taken")
"""


@pytest.fixture
def added(tmp_path: Path) -> Path:
    """A directory with the files of the page, and a module that puts the kind beside the others."""
    files = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert set(files) == {
        "edge_agent/coterie_learning/merge/winsorised_mean.py",
        "tests/coterie_learning/merge/test_winsorised_mean.py",
    }
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    for path, content in files.items():
        (kinds if "edge_agent" in path else tmp_path).joinpath(Path(path).name).write_text(content)
    (tmp_path / "added.py").write_text(PLUGIN.format(directory=str(kinds)))
    return tmp_path


def run(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": f"{directory}:{ROOT}/platform:{ROOT}/edge_agent:{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_kind_passes_its_test_and_the_laws_of_every_merge(added: Path) -> None:
    laws = ROOT / "tests/coterie_learning/merge/test_every_merge.py"
    own = added / "test_winsorised_mean.py"
    # What the other kinds promise has tests of its own, which no added kind changes.
    chosen = ("-p", "added", "-p", "no:cacheprovider", "-v", "-k", "winsorised_mean")
    told = run(added, "-m", "pytest", *chosen, str(laws), str(own))
    assert "test_the_order_of_updates_changes_no_bit[winsorised_mean] PASSED" in told
    assert "::test_the_extremes_are_pulled_in PASSED" in told


def test_plans_take_it_and_its_form_is_drawn(added: Path) -> None:
    run(added, "-c", FORM)


@pytest.mark.parametrize("page", ["add-a-kind.md", "bring-your-own-kind.md"])
def test_the_pages_name_every_slot(page: str) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    assert [slot for slot in (*DEVICE_SLOTS, *PLATFORM_SLOTS) if f"`{slot}`" not in text] == []
