"""Runs the code cells of a notebook in this process.

Without a Jupyter kernel: nbclient would bring some thirty packages and start a process for what `exec` does to cells of
plain Python. Cells with magics would fail, and the notebooks here have none.
"""

import json
from collections.abc import Mapping
from pathlib import Path

Namespace = dict[str, object]


class Notebook:
    """A notebook, run from its beginning up to a tag, and on from there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.namespace: Namespace = {"__name__": path.stem}
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        self._waiting = [(number, cell) for number, cell in enumerate(cells) if cell["cell_type"] == "code"]

    def run(self, *, until: str = "") -> Mapping[str, object]:
        """Run what has not run yet, before the first cell with the tag `until`; gives the names it has defined."""
        while self._waiting and until not in self._waiting[0][1]["metadata"].get("tags", []):
            number, cell = self._waiting.pop(0)
            assert cell["outputs"] == [], f"cell {number} of {self.path.name} is kept with its output"
            exec(compile("".join(cell["source"]), f"{self.path.name} cell {number}", "exec"), self.namespace)
        return self.namespace
