"""Device models of the user's own: how they are loaded and compiled."""

import gc
from pathlib import Path

import pytest
import torch
from torch import nn

from coterie.compile.errors import MalformedUpload
from coterie.compile.program import export_module
from coterie.simulation.learners.pair import compiled_pair
from coterie_learning.plan import presets
from coterie_recipes.solved import SolvedLinear

MANY = 20
"""Collections; there would be more than ten times as many."""
pytestmark = pytest.mark.xdist_group("compile")


def test_no_garbage_is_looked_for_while_a_model_is_compiled_and_then_again(tmp_path: Path) -> None:
    path = tmp_path / "device.pt2"
    torch.export.save(export_module(nn.Linear(4, 3), (torch.zeros(2, 4),)), path)
    collections: list[str] = []

    def heard(phase: str, _info: dict[str, int]) -> None:
        collections.append(phase)

    usual = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(heard)
    try:
        compiled_pair(path, 2)
        assert collections.count("start") < MANY, "but for those that are due once it is done"
    finally:
        gc.callbacks.remove(heard)
        gc.set_threshold(*usual)
    assert gc.isenabled()


def test_garbage_is_looked_for_again_after_a_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "device.pt2"
    path.write_bytes(b"no model")
    with pytest.raises(MalformedUpload):
        compiled_pair(path, 2)
    assert gc.isenabled()


def test_a_model_that_is_solved_sums_and_takes_no_steps(tmp_path: Path) -> None:
    """As plans with `local: second_order` want it; nothing is given to choose an optimiser by."""
    path = tmp_path / "device.pt2"
    torch.export.save(export_module(SolvedLinear(4, 3), (torch.zeros(2, 4),)), path)
    spec = compiled_pair(path, 2).spec
    assert not spec.optimiser_state
    (preset,) = (plan for name, plan in presets().items() if name == "logistic")
    assert list(preset.misfits(spec, None)) == []
