"""Who holds a row lets others refer to it: PostgreSQL checks a foreign key by a lock that ``FOR UPDATE`` refuses.

A transaction that has written a row of a federation takes that lock as it commits, and holds others until then; one
that holds the federation and waits for those is then in a deadlock with it. ``FOR NO KEY UPDATE`` keeps out all
who lock or change the row, too.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
DELETES = "platform/coterie/core/rows.py"
"""The rows that it holds are deleted, so nobody may refer to them."""


def locks() -> dict[str, bool]:
    """By file and line of each lock on rows, whether others may refer to them meanwhile."""
    found = {}
    for path in (ROOT / "platform").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "select_for_update"
            ):
                no_key = [one.value for one in node.keywords if one.arg == "no_key"]
                lets_refer = bool(no_key) and isinstance(no_key[0], ast.Constant) and no_key[0].value is True
                found[f"{path.relative_to(ROOT)}:{node.lineno}"] = lets_refer
    return found


def test_rows_that_stay_are_held_without_their_key() -> None:
    refusing = {place.partition(":")[0] for place, lets_refer in locks().items() if not lets_refer}
    assert refusing == {DELETES}, "say no_key=True: the row's key does not change"
