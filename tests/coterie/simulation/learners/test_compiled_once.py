"""A model is compiled once on a machine; what was kept is what the compiler gives."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coterie.compile.compiled import CompiledModel
from coterie.compile.program import export_module
from coterie.simulation.learners import compiled_once as kept
from coterie.simulation.learners.compiled_once import Compiled, compiled_once
from coterie.simulation.learners.pair import compiled_pair
from tests.coterie.simulation.fleet.fleets import compiled

pytestmark = pytest.mark.xdist_group("compile")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "DIRECTORY", tmp_path / "compiled")
    return tmp_path / "compiled"


class Compiler:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> CompiledModel:
        self.asked += 1
        return compiled()


def is_the_same(found: Compiled) -> bool:
    made = compiled()
    whole = (found.spec, found.train_step, found.predict, list(found.parameters))
    return whole == (made.spec, made.train_step, made.predict, list(made.parameters)) and all(
        np.array_equal(tensor, made.parameters[name]) and tensor.flags.writeable
        for name, tensor in found.parameters.items()
    )


def test_it_is_compiled_once_and_the_same_then() -> None:
    compiler = Compiler()
    assert all(is_the_same(compiled_once(b"one", compiler)) for _ in range(3))
    assert compiler.asked == 1
    compiled_once(b"other", compiler)
    assert compiler.asked == 2


def test_another_compiler_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    compiled_once(b"one", compiler)
    monkeypatch.setattr(kept, "compiler", lambda: b"of the next release")
    compiled_once(b"one", compiler)
    assert compiler.asked == 2


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda _: b"", lambda _: b"\0" * 64])
def test_a_file_that_is_damaged_is_replaced(damage: Callable[[bytes], bytes], directory: Path) -> None:
    compiler = Compiler()
    compiled_once(b"one", compiler)
    (file,) = directory.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert all(is_the_same(compiled_once(b"one", compiler)) for _ in range(2))
    assert compiler.asked == 2


def test_where_nothing_can_be_kept_it_is_compiled_each_time(directory: Path) -> None:
    directory.write_bytes(b"a file in its place")
    compiler = Compiler()
    assert all(is_the_same(compiled_once(b"one", compiler)) for _ in range(2))
    assert compiler.asked == 2


def test_what_was_used_longest_ago_goes(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 2)
    compiler = Compiler()
    for model in (b"one", b"two"):
        compiled_once(model, compiler)
    for file in directory.iterdir():
        os.utime(file, (1, 1))  # long ago
    compiled_once(b"one", compiler)
    compiled_once(b"three", compiler)
    assert len(list(directory.iterdir())) == 2
    compiled_once(b"one", compiler)
    assert compiler.asked == 3, "it was used since"


def test_a_process_that_finds_it_needs_no_pytorch(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "device.pt2"
    torch.export.save(export_module(nn.Linear(4, 3), (torch.zeros(2, 4),)), path)
    made = compiled_pair(path, 5)
    script = (
        "import sys; from pathlib import Path; from coterie.simulation.learners import compiled_once, pair\n"
        "compiled_once.DIRECTORY = Path(sys.argv[1])\n"
        "sys.stdout.buffer.write(pair.compiled_pair(Path(sys.argv[2]), 5).train_step)\n"
        "assert 'torch' not in sys.modules"
    )
    found = subprocess.run([sys.executable, "-c", script, directory, path], check=True, capture_output=True)
    assert found.stdout == made.train_step
